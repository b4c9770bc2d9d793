# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning of `concur-reader` beside the same encoder as a PyTorch module: training windows a
second, windows answered a second, and peak memory, in turn, with the same sizes and threads.
With --original, the readers that are not pretrained beside the networks of their authors.

usage: readers.py [--layers N] [--width N] [--length N] [--batch N] [--updates N] [--rounds N]
                  [--threads N]
       readers.py --original NAME=DIR … [--passage N] [--question N] [--words N] [--batch N] …
         NAME: DrQA (facebookresearch), MnemonicReader (HKUST-KnowComp) or FastFusionNet (felixgwu),
         whose checkout is DIR
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import reader_originals

ROOT = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY = 2000


def sizes_of(options):
    return {"model_type": "bert", "vocab_size": VOCABULARY, "hidden_size": options.width,
            "num_hidden_layers": options.layers, "num_attention_heads": options.width // 64,
            "intermediate_size": 4 * options.width, "max_position_embeddings": 512,
            "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 0}


def make_network(torch, sizes):
    """A BERT with a question-answering head, of torch's own modules, under the published names."""
    nn = torch.nn
    width, heads = sizes["hidden_size"], sizes["num_attention_heads"]

    class Embeddings(nn.Module):
        def __init__(self):
            super().__init__()
            self.word_embeddings = nn.Embedding(sizes["vocab_size"], width, padding_idx=0)
            self.position_embeddings = nn.Embedding(512, width)
            self.token_type_embeddings = nn.Embedding(2, width)
            self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
            self.dropout = nn.Dropout(0.1)

        def forward(self, ids, segments):
            positions = torch.arange(ids.shape[1])
            return self.dropout(self.LayerNorm(
                self.word_embeddings(ids) + self.token_type_embeddings(segments)
                + self.position_embeddings(positions)))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.ModuleDict({
                "self": nn.ModuleDict({name: nn.Linear(width, width)
                                       for name in ("query", "key", "value")}),
                "output": nn.ModuleDict({"dense": nn.Linear(width, width),
                                         "LayerNorm": nn.LayerNorm(width, eps=1e-12)})})
            self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, 4 * width)})
            self.output = nn.ModuleDict({"dense": nn.Linear(4 * width, width),
                                         "LayerNorm": nn.LayerNorm(width, eps=1e-12)})
            self.dropout = nn.Dropout(0.1)

        def forward(self, x, bias):
            def split(tensor):
                return tensor.view(*tensor.shape[:2], heads, width // heads).permute(0, 2, 1, 3)

            inner = self.attention["self"]
            scores = torch.matmul(split(inner["query"](x)),
                                  split(inner["key"](x)).transpose(-1, -2))
            scores = scores / (width // heads) ** 0.5 + bias
            weights = self.dropout(torch.softmax(scores, dim=-1))
            context = torch.matmul(weights, split(inner["value"](x)))
            context = context.permute(0, 2, 1, 3).contiguous().view(x.shape)
            outer = self.attention["output"]
            x = outer["LayerNorm"](self.dropout(outer["dense"](context)) + x)
            hidden = torch.nn.functional.gelu(self.intermediate["dense"](x))
            return self.output["LayerNorm"](self.dropout(self.output["dense"](hidden)) + x)

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings = Embeddings()
            self.encoder = nn.ModuleDict({
                "layer": nn.ModuleList([Layer() for _ in range(sizes["num_hidden_layers"])])})

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = Bert()
            self.qa_outputs = nn.Linear(width, 2)

        def forward(self, ids, mask, segments):
            x = self.bert.embeddings(ids, segments)
            bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
            for layer in self.bert.encoder["layer"]:
                x = layer(x, bias)
            starts, ends = self.qa_outputs(x).split(1, dim=-1)
            return starts.squeeze(-1), ends.squeeze(-1)

    return Reader()


def adamw_step(torch, parameters, state, step, rate):
    """transformers' AdamW, after its description: the decay follows the step."""
    size = rate * (1 - 0.999 ** step) ** 0.5 / (1 - 0.9 ** step)
    with torch.no_grad():
        for parameter in parameters:
            if parameter not in state:
                state[parameter] = (torch.zeros_like(parameter), torch.zeros_like(parameter))
            first, second = state[parameter]
            first.mul_(0.9).add_(parameter.grad, alpha=0.1)
            second.mul_(0.999).addcmul_(parameter.grad, parameter.grad, value=0.001)
            parameter.addcdiv_(first, second.sqrt().add_(1e-8), value=-size)


def run_torch(options, folder):
    """Trains, then answers; prints the seconds of each and this process's peak memory."""
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    network = make_network(torch, sizes_of(options))
    network.load_state_dict(torch.load(folder / "checkpoint/pytorch_model.bin"))
    parameters = list(network.parameters())
    state = {}
    shape = (options.batch, options.length)
    batches = [torch.randint(5, VOCABULARY, shape) for _ in range(options.updates)]
    mask = torch.ones(shape, dtype=torch.long)
    segments = torch.zeros(shape, dtype=torch.long)
    target = torch.full((options.batch,), options.length // 2)
    network.train()
    began = time.perf_counter()
    for step, ids in enumerate(batches, 1):
        starts, ends = network(ids, mask, segments)
        loss = (torch.nn.functional.cross_entropy(starts, target)
                + torch.nn.functional.cross_entropy(ends, target)) / 2
        network.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        adamw_step(torch, parameters, state, step, 3e-5)
        loss.item()
    trained = time.perf_counter()
    network.eval()
    with torch.no_grad():
        for ids in batches:
            network(ids, mask, segments)
    answered = time.perf_counter()
    print(json.dumps({"train": trained - began, "predict": answered - trained,
                      "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def make_data(options, folder):
    """A checkpoint of random weights, and questions whose window is as long as is asked."""
    import torch
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [f"w{i}" for i in range(VOCABULARY - len(words))]
    (checkpoint / "vocab.txt").write_text("\n".join(words) + "\n")
    (checkpoint / "config.json").write_text(json.dumps(sizes_of(options)))
    torch.manual_seed(1)
    torch.save(make_network(torch, sizes_of(options)).state_dict(),
               checkpoint / "pytorch_model.bin")
    room = options.length - 5  # [CLS] w0 w1 [SEP] passage [SEP]
    context = " ".join(words[5 + i % 1990] for i in range(room))
    at = context.index(words[5 + room // 2])
    lines = [json.dumps({"context": context, "qas": [{
        "qid": f"q{i}", "question": "w0 w1", "answers": [words[5 + room // 2]],
        "detected_answers": [{"text": words[5 + room // 2],
                              "char_spans": [[at, at + len(words[5 + room // 2]) - 1]]}]}]})
             for i in range(options.batch * options.updates)]
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "none.jsonl").write_text(lines[0] + "\n")


def timed(command):
    """Seconds, and what resources the process took."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(error.decode())
    return time.perf_counter() - began, usage


def run_concur(options, folder, binary):
    """The same by two runs each, of which the shorter's time, that of starting, is taken off."""
    def train(updates):
        data = folder / ("data.jsonl" if updates > 1 else "none.jsonl")
        return timed([binary, "train", "--approach=bert", f"--checkpoint={folder}/checkpoint",
                      f"--train={data}", f"--model={folder}/model-{updates}", "--device=cpu",
                      f"--threads={options.threads}", "--setting", f"batch={options.batch}",
                      "--setting", f"length={options.length}", "--setting", "epochs=1",
                      "--setting", f"stride={options.length // 4}"])

    def predict(name):
        return timed([binary, "predict", f"--model={folder}/model-{options.updates}",
                      f"--test={folder}/{name}", f"--predictions={folder}/answers.json",
                      "--device=cpu", f"--threads={options.threads}"])

    start, _ = train(1)
    whole, training = train(options.updates)
    asked, _ = predict("none.jsonl")
    answered, predicting = predict("data.jsonl")
    # The one window of the shorter runs counts, too: against concur-reader.
    return {"train": whole - start, "predict": answered - asked,
            "memory": max(training.ru_maxrss, predicting.ru_maxrss)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("layers", 4), ("width", 256), ("length", 128), ("batch", None),
                          ("updates", None), ("rounds", 3), ("threads", None), ("passage", 150),
                          ("question", 15), ("words", 20000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--original", type=reader_originals.parse, action="append",
                        metavar="NAME=DIR")
    parser.add_argument("--torch-in", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    # Recurrent networks are fastest with one thread.
    for name, of_encoder, of_original in (("batch", 8, 32), ("updates", 24, 6), ("threads", 2, 1)):
        if getattr(options, name) is None:
            setattr(options, name, of_original if options.original else of_encoder)
    if options.torch_in and options.original:
        reader_originals.run_original(options, options.torch_in)
        return
    if options.torch_in:
        run_torch(options, options.torch_in)
        return
    binary = ROOT / "build" / os.environ.get("CONCUR_PRESET", "release") / "bin/concur-reader"
    # torch's own setting leaves OpenBLAS as many threads as there are processors.
    os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)
    results = {"concur-reader": [], "PyTorch": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.original:
            reader_originals.compare(options, folder, binary, timed)
            return
        make_data(options, folder)
        for _ in range(options.rounds):
            results["concur-reader"].append(run_concur(options, folder, binary))
            output = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--torch-in", folder],
                                    check=True, capture_output=True, text=True).stdout
            results["PyTorch"].append(json.loads(output))
    windows = options.batch * options.updates
    print(f"{'':14} {'train/s':>8} {'predict/s':>10} {'MiB':>6}")
    for name, rounds in results.items():
        best = {part: min(one[part] for one in rounds) for part in ("train", "predict")}
        print(f"{name:14} {windows / best['train']:8.1f} {windows / best['predict']:10.1f} "
              f"{max(one['memory'] for one in rounds) / 1024:6.0f}")


if __name__ == "__main__":
    main()
