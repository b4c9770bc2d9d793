# SPDX-License-Identifier: Apache-2.0
# Made drqa.mdl, allennlp.tar.gz and evil.pt beside it: what torch.save and DrQA would write, with
# stand-ins for torch's and DrQA's classes, so that nothing but Python is needed.
import argparse, io, json, pickle, struct, sys, tarfile, types, zipfile


def module(name, **members):
    found = sys.modules.setdefault(name, types.ModuleType(name))
    for key, member in members.items():
        member.__module__ = name
        member.__qualname__ = member.__name__ = key
        setattr(found, key, member)


class Storage:
    def __init__(self, key, values):
        self.key, self.values = key, values


def rebuild(*_):
    pass


module("torch._utils", _rebuild_tensor_v2=rebuild)
module("torch", FloatStorage=type("FloatStorage", (), {}))
module("drqa", **{})
module("drqa.reader", **{})
module("drqa.reader.data", Dictionary=type("Dictionary", (), {}))
import collections


class Tensor:
    def __init__(self, storage, offset, shape, strides):
        self.parts = (storage, offset, shape, strides, False, collections.OrderedDict())

    def __reduce__(self):
        return rebuild, self.parts


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            kind = sys.modules["torch"].FloatStorage
            return ("storage", kind, value.key, "cpu", len(value.values)) + self.more


def dump(value, protocol=2, more=()):
    out = io.BytesIO()
    pickler = Pickler(out, protocol)
    pickler.more = more
    pickler.dump(value)
    return out.getvalue()


def legacy(value, storages):
    data = dump(0x1950A86A20F9469CFC6C) + dump(1001)
    data += dump({"little_endian": True}) + dump(value, more=(None,))
    data += dump([storage.key for storage in storages])
    for storage in storages:
        data += struct.pack("<Q", len(storage.values))
        data += struct.pack("<%df" % len(storage.values), *storage.values)
    return data


def zipped(value, storages):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", dump(value))
        for storage in storages:
            values = struct.pack("<%df" % len(storage.values), *storage.values)
            archive.writestr("archive/data/" + storage.key, values)
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


storage = Storage("7", [float(i) for i in range(8)])
state = collections.OrderedDict(
    [("a.weight", Tensor(storage, 0, (2, 3), (3, 1))),
     ("a.turned", Tensor(storage, 2, (3, 2), (1, 3))),
     ("b", Tensor(storage, 7, (), ()))])
words = sys.modules["drqa.reader.data"].Dictionary()
words.tok2ind = {"<NULL>": 0, "<UNK>": 1, "the": 2, "caf\u00e9": 3}
words.ind2tok = {v: k for k, v in words.tok2ind.items()}
model = {"state_dict": state, "word_dict": words, "feature_dict": {"in_question": 0, "tf": 1},
         "args": argparse.Namespace(hidden_size=128, dropout_emb=0.4, rnn_type="lstm",
                                    use_qemb=True, pretrained=None, tune=-5)}
with open("drqa.mdl", "wb") as out:
    out.write(legacy(model, [storage]))


class Evil:
    def __reduce__(self):
        import os
        return os.system, ("touch /tmp/concur-was-here",)


with open("evil.pt", "wb") as out:
    out.write(zipped({"state_dict": Evil()}, []))
with tarfile.open("allennlp.tar.gz", "w:gz", format=tarfile.USTAR_FORMAT) as archive:
    for name, contents in [("config.json", json.dumps({"model": {"type": "bidaf"}}).encode()),
                           ("weights.th", zipped(state, [storage])),
                           ("vocabulary/tokens.txt", b"@@UNKNOWN@@\nthe\n"),
                           ("../outside.txt", b"no\n")]:
        entry = tarfile.TarInfo(name)
        entry.size = len(contents)
        archive.addfile(entry, io.BytesIO(contents))
