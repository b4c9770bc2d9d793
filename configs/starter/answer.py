#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers questions about short passages. Change it, or replace it by a program of your own.

answer.py train --train FILE --model FILE
answer.py predict --model FILE --data FILE --predictions FILE --how overlap|rare|first|random --seed N
"""
import argparse
import collections
import json
import random
import re


def passages(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            passage = json.loads(line)
            if "context" in passage:  # a header may come first
                yield passage


def words(text):
    return re.findall(r"\w+", text)


def train(args):
    """Counts in how many passages each word stands."""
    counts = collections.Counter()
    for passage in passages(args.train):
        counts.update(set(words(passage["context"])))
    with open(args.model, "w", encoding="utf-8") as out:
        json.dump(counts, out)


def answer(context, question, how, counts, rng):
    """The last word of a sentence; `how` says of which one."""
    sentences = [words(sentence) for sentence in context.split(".") if words(sentence)]
    asked = set(words(question))

    def weight(word):
        return 1 / (1 + counts.get(word, 0)) if how == "rare" else 1

    def overlap(sentence):
        return sum(weight(word) for word in asked & set(sentence))

    if how == "random":
        return rng.choice(rng.choice(sentences))
    if how == "first":
        return sentences[0][-1]
    return max(sentences, key=overlap)[-1]


def predict(args):
    with open(args.model, encoding="utf-8") as file:
        counts = json.load(file)
    rng = random.Random(args.seed)
    answers = {}
    for passage in passages(args.data):
        for qa in passage["qas"]:
            answers[qa["qid"]] = answer(passage["context"], qa["question"], args.how, counts, rng)
    with open(args.predictions, "w", encoding="utf-8") as out:
        json.dump(answers, out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=["train", "predict"])
    for option in ["train", "model", "data", "predictions", "how"]:
        parser.add_argument("--" + option)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    if args.step == "train":
        train(args)
    else:
        predict(args)


if __name__ == "__main__":
    main()
