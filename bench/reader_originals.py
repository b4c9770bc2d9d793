# SPDX-License-Identifier: Apache-2.0
"""Readers that are not pretrained beside their originals: updates a second, questions answered a
second of processor time, and peak memory, in turn, on the same sizes, batches and threads. An
original is the network of the user's checkout of it, trained and asked as its own program does; it
gets the weights that concur-reader trained, by name, which shows that both are of one size."""

import argparse
import importlib
import json
import pathlib
import resource
import subprocess
import sys
import time
import types

WIDTH = 300  # of word vectors
CHARACTERS = 13  # of a word in MnemonicReader


class Original:
    """One network of a checkout. `forward` makes its arguments from those of a batch."""

    def __init__(self, approach, module, name, takes_dict, encoder, sizes, forward):
        self.approach, self.module, self.name = approach, module, name
        self.takes_dict = takes_dict
        self.encoder = encoder      # parameter whose columns are the words' and the features'
        self.sizes = sizes          # columns beside the features, from the options
        self.forward = forward

    def make(self, checkout, options, tensors):
        """The network, with these weights."""
        options = {**DEFAULTS, **options}
        options["vocab_size"], options["embedding_dim"] = tensors["embedding.weight"].shape
        for size, table in (("pos_size", "pos_embedding"), ("ner_size", "ner_embedding"),
                            ("char_size", "char_embedding")):
            if table + ".weight" in tensors:
                options[size] = len(tensors[table + ".weight"])
        options["num_features"] = tensors[self.encoder].shape[1] - self.sizes(options)
        network = getattr(load(checkout, self.module), self.name)(
            options if self.takes_dict else argparse.Namespace(**options))
        network.load_state_dict(tensors)
        return network, options


# Options that the originals have and concur-reader has not, as their programs set them.
DEFAULTS = {"pretrained_words": False, "rnn_padding": False, "question_merge": "self_attn",
            "sd_min_size": 0, "sd_rescale": False, "bidirectional": True}


def fusion_width(options):
    tags = [options[tag + "_dim"] for tag in ("pos", "ner") if options[tag]]
    return 2 * options["embedding_dim"] + sum(tags)


FUSION = dict(module="qa.rnn_reader", takes_dict=True, encoder="doc_rnn.rnns.0.weight_ih_l0",
              sizes=fusion_width,
              forward=lambda b: (b.x1, b.x1_f, b.pos, b.ner, b.x1_mask, b.x2, b.x2_mask, None))

ORIGINALS = {
    "DrQA": [Original(
        "drqa", "drqa.reader.rnn_reader", "RnnDocReader", False, "doc_rnn.rnns.0.weight_ih_l0",
        lambda options: 2 * options["embedding_dim"],
        lambda b: (b.x1, b.x1_f, b.x1_mask, b.x2, b.x2_mask))],
    "FastFusionNet": [Original("document-reader", name="RnnDocReader", **FUSION),
                      Original("fusionnet", name="FusionNet", **FUSION)],
    "MnemonicReader": [Original(
        "mnemonic-reader", "m_reader", "MnemonicReader", False,
        "encoding_rnn.rnns.0.weight_ih_l0",
        lambda options: options["embedding_dim"] + 2 * options["char_hidden_size"],
        lambda b: (b.x1, b.x1_c, b.x1_f, b.x1_mask, b.x2, b.x2_c, b.x2_f, b.x2_mask))],
}
# Why the others are not here.
NOT_COMPARED = {"bidaf, bidaf-plus-plus, qanet": "their originals need AllenNLP",
                "rasor": "its original needs Theano"}


def load(checkout, name):
    """A module of the checkout, without what its packages import: tokenizers, plotting."""
    sys.path.insert(0, str(checkout))
    for unused in ("sru", "oldsru"):  # cells for GPUs
        sys.modules[unused] = types.ModuleType(unused)
        sys.modules[unused].SRUCell = None
    parts = name.split(".")[:-1]
    for i in range(len(parts)):
        package = types.ModuleType(".".join(parts[:i + 1]))
        package.__path__ = [str(pathlib.Path(checkout, *parts[:i + 1]))]
        sys.modules[package.__name__] = package
    return importlib.import_module(name)


def read_safetensors(path):
    import torch
    data = bytearray(path.read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data[begin + first:begin + last],
                                         dtype=torch.float32).reshape(entry["shape"]).clone()
    return tensors


def make_batches(options, sizes, count):
    import torch
    rows, passage, question = options.batch, options.passage, options.question
    for _ in range(count):
        yield argparse.Namespace(
            x1=torch.randint(2, sizes["vocab_size"], (rows, passage)),
            x2=torch.randint(2, sizes["vocab_size"], (rows, question)),
            x1_f=torch.rand(rows, passage, sizes["num_features"]),
            x2_f=torch.rand(rows, question, sizes["num_features"]),
            x1_c=torch.randint(2, sizes.get("char_size", 3), (rows, passage, CHARACTERS)),
            x2_c=torch.randint(2, sizes.get("char_size", 3), (rows, question, CHARACTERS)),
            pos=torch.randint(0, sizes.get("pos_size") or 1, (rows, passage)),
            ner=torch.randint(0, sizes.get("ner_size") or 1, (rows, passage)),
            x1_mask=torch.zeros(rows, passage, dtype=torch.bool),
            x2_mask=torch.zeros(rows, question, dtype=torch.bool),
            target=torch.full((rows,), passage // 2))


def run_original(options, folder):
    """Trains, then answers; prints the processor's seconds and this process's peak memory."""
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    name, place, checkout = options.original[0]
    original = ORIGINALS[name][place]
    model = json.loads((folder / original.approach / "model.json").read_text())
    settings = model["settings"]
    network, sizes = original.make(
        checkout, model["options"], read_safetensors(folder / original.approach /
                                                     "weights.safetensors"))
    words, tuned = network.embedding.weight, settings["tuned_words"]
    words.requires_grad = tuned != 0
    kept = words.data[tuned + 2:].clone() if tuned > 0 else None
    parameters = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.Adamax(parameters, lr=settings["learning_rate"])

    def update(batch):
        starts, ends = network(*original.forward(batch))
        loss = (torch.nn.functional.nll_loss(starts, batch.target)
                + torch.nn.functional.nll_loss(ends, batch.target))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, settings["gradient_norm_max"])
        optimizer.step()
        if kept is not None:  # words beyond the most frequent stay as they were
            words.data[tuned + 2:] = kept
        loss.item()

    batches = list(make_batches(options, sizes, options.updates))
    network.train()
    update(batches[0])
    began = time.process_time()
    for batch in batches:
        update(batch)
    trained = time.process_time()
    network.eval()
    with torch.no_grad():
        for batch in batches:
            network(*original.forward(batch))
    answered = time.process_time()
    print(json.dumps({"train": trained - began, "predict": answered - trained,
                      "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def word(number):
    """Different words of letters for different numbers, which no tokenizer cuts."""
    syllables = [a + b for a in "bdfgklmnprtvz" for b in "aeiou"]
    text = ""
    for _ in range(3):
        number, place = divmod(number, len(syllables))
        text += syllables[place]
    return text


def lines(options, passages, questions):
    """MRQA lines of passages with questions, which together have all words."""
    for i in range(passages):
        first = i * options.passage
        words = [word((first + k) * 7919 % options.words) for k in range(options.passage)]
        answer = words[options.passage // 2]
        at = len(" ".join(words[:options.passage // 2])) + 1
        yield json.dumps({"context": " ".join(words), "qas": [{
            "qid": f"{i}-{k}",
            "question": " ".join(word((first + k + j) % options.words)
                                 for j in range(options.question)),
            "answers": [answer],
            "detected_answers": [{"text": answer, "char_spans": [[at, at + len(answer) - 1]]}]}
            for k in range(questions)]})


def make_data(options, folder):
    count = options.batch * options.updates
    (folder / "train.jsonl").write_text("\n".join(lines(options, count, 1)) + "\n")
    (folder / "one.jsonl").write_text(next(lines(options, 1, 1)) + "\n")
    # Questions share passages, which are tokenized and tagged once: originals read them prepared.
    (folder / "test.jsonl").write_text(
        "\n".join(lines(options, options.updates, options.batch)) + "\n")
    with open(folder / "vectors.txt", "w") as vectors:
        for number in range(options.words):
            numbers = " ".join(str((number * 31 + k * 17) % 199 / 100 - 1) for k in range(WIDTH))
            vectors.write(f"{word(number)} {numbers}\n")


def run_concur(options, folder, binary, approach, timed):
    """A half of three epochs' processor time without one's, and that of answering without that of
    answering one question: neither has the time of starting."""
    machine = ["--device=cpu", f"--threads={options.threads}"]

    def train(epochs):
        return timed([binary, "train", f"--approach={approach}", f"--train={folder}/train.jsonl",
                      f"--dev={folder}/one.jsonl", f"--vectors={folder}/vectors.txt",
                      f"--model={folder}/{approach}", *machine, "--setting", f"epochs={epochs}",
                      "--setting", f"batch={options.batch}"])[1]

    def predict(name):
        return timed([binary, "predict", f"--model={folder}/{approach}",
                      f"--test={folder}/{name}", f"--predictions={folder}/answers.json",
                      *machine])[1]

    def processor(usage):
        return usage.ru_utime + usage.ru_stime

    one, three = train(1), train(3)
    asked, answered = predict("one.jsonl"), predict("test.jsonl")
    return {"train": (processor(three) - processor(one)) / 2,
            "predict": processor(answered) - processor(asked),
            "memory": max(three.ru_maxrss, answered.ru_maxrss)}


def compare(options, folder, binary, timed):
    """A row for each network of each checkout."""
    make_data(options, folder)
    print(f"{'':32} {'updates/s':>22} {'questions/s':>22} {'MiB':>11}\n"
          f"{'':16} {'original':15} {'here  theirs  ratio':>22} {'here  theirs  ratio':>22} "
          f"{'here theirs':>11}")
    for name, checkout in options.original:
        for place, original in enumerate(ORIGINALS[name]):
            rounds = {"ours": [], "theirs": []}
            for _ in range(options.rounds):
                rounds["ours"].append(run_concur(options, folder, binary, original.approach,
                                                 timed))
                sizes = [f"--{key}={getattr(options, key)}" for key in
                         ("batch", "updates", "threads", "passage", "question")]
                process = subprocess.run(
                    [sys.executable, pathlib.Path(__file__).with_name("readers.py"), *sizes,
                     f"--original={name}:{place}={checkout}", "--torch-in", folder],
                    capture_output=True, text=True)
                if process.returncode != 0:
                    print(f"{original.approach:16} {name:15} does not run here: "
                          f"{process.stderr.strip().splitlines()[-1]}")
                    break
                rounds["theirs"].append(json.loads(process.stdout))
            else:
                print_row(options, original.approach, name, rounds)
    for approaches, why in NOT_COMPARED.items():
        print(f"not compared: {approaches}: {why}")


def print_row(options, approach, name, rounds):
    def best(side, part):
        return min(one[part] for one in rounds[side])

    cells = []
    for part, count in (("train", options.updates), ("predict", options.updates * options.batch)):
        ours, theirs = (count / best(side, part) for side in ("ours", "theirs"))
        cells.append(f"{ours:7.2f} {theirs:7.2f} {ours / theirs:5.2f}x")
    memory = [max(one["memory"] for one in rounds[side]) / 1024 for side in ("ours", "theirs")]
    print(f"{approach:16} {name:15} {cells[0]} {cells[1]} {memory[0]:5.0f} {memory[1]:5.0f}",
          flush=True)


def parse(text):
    """NAME=DIR of --original, for one of its networks NAME:PLACE=DIR."""
    name, equals, checkout = text.partition("=")
    name, _, place = name.partition(":")
    if not equals or name not in ORIGINALS:
        raise argparse.ArgumentTypeError(
            f"expected NAME=DIR with NAME one of {', '.join(ORIGINALS)}, got \"{text}\"")
    if not pathlib.Path(checkout).is_dir():
        raise argparse.ArgumentTypeError(f"{checkout}: no such folder; give the checkout of {name}")
    return (name, int(place), checkout) if place else (name, checkout)
