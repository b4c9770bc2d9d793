# SPDX-License-Identifier: Apache-2.0
"""Measures how fast concur-reader cuts text into pieces, beside the same algorithms in plain
Python: BERT's words and pieces, and RoBERTa's byte pairs with a cache of words.
Fails where their pieces differ. Processor time, the best of three runs.

usage: tokenizers.py TEXT bert-uncased=DIR roberta=DIR [--lines N]
DIR holds vocab.txt, or vocab.json and merges.txt. Lines of TEXT that are empty are left out."""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time
import unicodedata

import harness


def is_punctuation(char):
    code = ord(char)
    return (33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
            or unicodedata.category(char).startswith("P"))


class Bert:
    def __init__(self, folder):
        self.pieces = set((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())

    def words(self, text):
        for token in text.split():
            token = unicodedata.normalize("NFD", token.lower())
            word = []
            for char in token:
                if unicodedata.category(char) == "Mn":
                    continue
                if is_punctuation(char) or 0x4E00 <= ord(char) <= 0x9FFF:
                    if word:
                        yield "".join(word)
                    yield char
                    word = []
                else:
                    word.append(char)
            if word:
                yield "".join(word)

    def tokenize(self, text):
        found = []
        for word in self.words(text):
            start, cut = 0, []
            while start < len(word):
                end = len(word)
                while end > start:
                    piece = ("##" if start else "") + word[start:end]
                    if piece in self.pieces:
                        break
                    end -= 1
                if end == start or len(word) > 100:
                    cut = ["[UNK]"]
                    break
                cut.append(piece)
                start = end
            found += cut
        return found


class Roberta:
    WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")

    def __init__(self, folder):
        lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
        pairs = [tuple(line.split()) for line in lines if line and not line.startswith("#version")]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
        hidden = [byte for byte in range(256) if byte not in shown]
        self.chars = {byte: chr(byte) for byte in shown}
        self.chars.update({byte: chr(256 + i) for i, byte in enumerate(hidden)})
        self.known = {}

    def merged(self, token):
        if token in self.known:
            return self.known[token]
        word = list(token)
        while len(word) > 1:
            best = min(zip(word, word[1:]), key=lambda pair: self.ranks.get(pair, 1 << 60))
            if best not in self.ranks:
                break
            joined, i = [], 0
            while i < len(word):
                if i + 1 < len(word) and (word[i], word[i + 1]) == best:
                    joined.append(word[i] + word[i + 1])
                    i += 2
                else:
                    joined.append(word[i])
                    i += 1
            word = joined
        self.known[token] = word
        return word

    def tokenize(self, text):
        found = []
        for token in self.WORDS.findall(text):
            found += self.merged("".join(self.chars[byte] for byte in token.encode()))
        return found


ALGORITHMS = {"bert-uncased": Bert, "roberta": Roberta}


def ours(folder, lines):
    """(pieces of each line, seconds of processor time for all of them)."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()

        def printed(*command):
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout

        shown = printed(harness.BIN / "concur-reader", "tokenize", "--checkpoint", folder,
                        file.name)
        pieces = [json.loads(line)["pieces"] for line in shown.splitlines()]
        count, seconds = printed(harness.BIN / "bench_tokenizer", folder, file.name).split()
    if int(count) != sum(map(len, pieces)):
        raise RuntimeError(f"{folder}: concur-reader shows other pieces than its tokenizer cuts")
    return pieces, float(seconds)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("tokenizers", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--lines", type=int, default=10_000)
    arguments = parser.parse_args()
    # WikiText's unknown words look like a special token, which the Python here does not know.
    text = arguments.text.read_text(encoding="utf-8").replace("<unk>", "unknown")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = lines[:arguments.lines]
    rows = []
    for name, folder in (argument.split("=", 1) for argument in arguments.tokenizers):
        if name not in ALGORITHMS:
            parser.error(f"no tokenizer is called {name}: expected {' or '.join(ALGORITHMS)}")
        python = ALGORITHMS[name]
        times = []
        for _ in range(3):
            tokenizer = python(pathlib.Path(folder))  # with no word known yet
            start = time.process_time()
            pieces = [tokenizer.tokenize(line) for line in lines]
            times.append(time.process_time() - start)
        found, seconds = ours(folder, lines)
        if found != pieces:
            differs = next(line for line, a, b in zip(lines, found, pieces) if a != b)
            raise RuntimeError(f"{name}: other pieces than Python's: {differs}")
        count = sum(map(len, pieces))
        rows.append([name, f"{len(lines):,}", f"{count:,}", f"{count / min(times) / 1e6:.2f} M",
                     f"{count / seconds / 1e6:.2f} M", f"{min(times) / seconds:.0f}"])
    print(harness.table(["", "lines", "pieces", "Python, pieces/s", "concur-reader", "times"], rows))


if __name__ == "__main__":
    main()
