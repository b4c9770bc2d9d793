// SPDX-License-Identifier: Apache-2.0
// Small hand-made files in the layout of each release, and what importers make of them.
#ifndef CONCUR_TESTS_QA_IMPORTERS_SAMPLES_H_
#define CONCUR_TESTS_QA_IMPORTERS_SAMPLES_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur::qa {

struct Sample {
  std::string name;  // the case's
  std::string format;
  std::string file;
  std::string contents;  // `kept` questions are kept of `read`
  int64_t read = 0;
  int64_t kept = 0;
  std::string wrong;        // the same layout, nested or ordered wrongly
  std::string wrong_place;  // in the message about it
  std::string endless;      // a line that begins so never ends
  std::string sentences;    // QAMR's second file
};

inline void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }

inline std::string CbtExample(const std::string& question) {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    absl::StrAppend(&text, i, " Sentence ", i, " tells of Ann and the dog .\n");
  }
  return absl::StrCat(text, "21 ", question, "\n");
}

inline std::vector<Sample> Samples() {
  const std::string squad = R"({"version": "1.1", "data": [
{"title": "T", "paragraphs": [{"context": "Zoë met Bob.", "qas": [
 {"id": "a", "question": "Who met Bob?", "answers": [{"text": "Zoë", "answer_start": 0}]},
 {"id": "b", "question": "Whom?", "answers": [{"text": "Bob", "answer_start": 8}]}]}]},
{"title": "U", "paragraphs": [{"context": "It rains.", "qas": [
 {"id": "a", "question": "What?", "answers": [{"text": "rains", "answer_start": 3}]},
 {"id": "c", "question": "What?", "answers": [{"text": "rains", "answer_start": 4}]}]}]}]}
)";
  const std::string squad_wrong =
      "{\"data\": [\n{\"title\": \"T\", \"paragraphs\": [{\"context\": \"a\", \"qas\": []}}]}]}\n";
  const std::string mrqa = R"({"header": {"dataset": "X", "split": "dev"}}
{"context": "Zoë met Bob.", "qas": [{"qid": "a", "question": "Who?", "answers": ["the Bob"], "detected_answers": [{"text": "Bob", "char_spans": [[8, 10], [0, 1]]}]}]}
{"context": "It rains.", "qas": [{"qid": "b", "question": "Q?", "answers": ["rains"], "detected_answers": [{"text": "rains", "char_spans": [[0, 1], [90, 91]]}]}]}
)";
  const std::string mrqa_wrong = "{\"header\": {}}\n{\"context\": [\"a\"], \"qas\": []}\n";
  const std::string drop = R"({
"p_1": {"passage": "Ann ran 3 miles. Ann won.", "qa_pairs": [
 {"question": "Who?", "query_id": "a", "answer": {"number": "", "date": {"day": ""}, "spans": ["Ann"]}, "validated_answers": [{"number": "", "spans": ["miles"]}, {"number": "3", "spans": []}]},
 {"question": "How far?", "query_id": "b", "answer": {"number": "3", "date": {}, "spans": []}},
 {"question": "Both?", "query_id": "c", "answer": {"number": "", "spans": ["Ann", "miles"]}},
 {"question": "When?", "query_id": "d", "answer": {"number": "", "date": {"day": "1"}, "spans": []}},
 {"question": "Who not?", "query_id": "e", "answer": {"number": "", "spans": ["An"]}}]}}
)";
  const std::string record = R"({"version": "1.0", "data": [
{"id": "p", "passage": {"text": "Zoë met Bob.\n@highlight\nBob", "entities": []}, "qas": [
 {"id": "a", "query": "@placeholder was met", "answers": [{"start": 8, "end": 10, "text": "Bob"}, {"start": 24, "end": 26, "text": "Bob"}]},
 {"id": "b", "query": "@placeholder met", "answers": [{"start": 1, "end": 3, "text": "Zoë"}]}]}]}
)";
  const std::string babi =
      "1 Mary went home.\n2 John is a cat.\n3 Where is Mary? \thome\t1\n4 Cats fear wolves.\n"
      "5 What does John fear?\twolf\t2 4\n1 Anna sat.\n2 Is it so?\tyes\t1\n3 Who sat?\tanna\t1\n";
  const std::string cnn =
      "http://x/y\n\n@entity1 met @entity12 , and @entity1 left\n\n@placeholder "
      "left\n\n@entity1\n\n"
      "@entity1:Ann\n@entity12:Bob\n";
  const std::string sentences =
      "W:x:1:0:1\tBob -LRB- he -RRB- sat .\nW:x:1:0:0\tAnn saw him .\nW:x:2:0:0\tNo .\n";
  const std::string qamr =
      "W:x:1:0:0\t0 1\t7\t0\t0\tWho saw?\t0\t8:0\t9:1 2\n"
      "W:x:1:0:1\t0 5\t7\t0\t0\tWho?\t0 1 2 3\t8:Invalid\n"
      "W:x:1:0:1\t0 5\t7\t1\t0\tWhat?\t0 4\n"
      "W:x:1:0:0\t0 1\t7\t1\t0\tWhat is it?\t1\nW:x:1:0:1\t0 1\t7\t1\t0\tWhat is it?\t1\n";
  std::vector<Sample> samples = {
      {"squad", "squad", "s.json", squad, 4, 2, squad_wrong, ":2: data[0]: not valid JSON: line 2",
       "{\"data\": [\"", ""},
      {"mrqa", "mrqa", "m.jsonl", mrqa, 2, 1, mrqa_wrong, ":2: context: expected a string, got a",
       "{\"context\": \"", ""},
      {"naturalquestions", "naturalquestions", "n.jsonl", mrqa, 2, 1, "{\"qas\": [}\n",
       ":1: not valid JSON: line 1, column 10", "{\"context\": \"", ""},
      {"droptext", "drop-raw", "d.json", drop, 5, 1,
       "{\"p\": {\"passage\": \"a\",\n\"qa_pairs\": [}]}", ":1: not valid JSON: line 2",
       "{\"p\": {\"passage\": \"", ""},
      {"record", "record", "r.json", record, 2, 1, "{\"data\": [{\"passage\": []}]}",
       ":1: data[0]: passage: expected an object, got a list", "{\"data\": [\"", ""},
      {"babi", "babi", "b.txt", babi, 4, 3, "1 Mary went home.\n3 Mary left.\n",
       ":2: expected a line that starts with its number, 2 or 1", "1 ", ""},
      {"cbt", "cbt", "c.txt",
       CbtExample("XXXXX barked .\tDOG\t\tdog|cat|cow") + "\n" +
           CbtExample("XXXXX .\tcat\t\tcat|x"),
       2, 1, "1 One .\n3 Three .\n", ":2: expected sentence 2 of an example", "1 ", ""},
      {"lambadaplain", "lambada", "l.txt",
       "ann saw bob . `` who ? '' said bob\nann ran . ann ran away\nword\n\n", 3, 1,
       "{\"text\": [\"a\"]}\n", ":1: text: expected a string, got a list", "a ", ""},
      {"lambadajson", "lambada", "l.jsonl", "\n{\"text\": \"Mr. Bob ran.\\n\\nSo did Bob\"}\n", 1,
       1, "{\"text\": \"a b\"}\n{\"text\": \"a b\"]\n", ":2: not valid JSON: line 2",
       "{\"text\": \"", ""},
      {"cnn", "cnn", "q.question", cnn, 1, 1, "http://x\n\na b c\n\nno mask here\n\n@entity1\n",
       ": expected a question with @placeholder", "http://x", ""},
      {"qamr", "qamr", "q.tsv", qamr, 5, 2, "W:x:1:0:0\t0 1\t7\t0\t0\tWho?\t0\n0 1\tW\n",
       ":2: expected at least 7 fields", "W:x:1:0:0\t", sentences},
  };
  // The other names of these forms.
  for (const auto& [name, like] : std::vector<std::pair<std::string, size_t>>{{"squadshifts", 0},
                                                                              {"adversarialqa", 0},
                                                                              {"addsent", 0},
                                                                              {"addonesent", 0},
                                                                              {"newsqa", 1},
                                                                              {"hotpotqa", 1},
                                                                              {"drop", 1}}) {
    Sample sample = samples[like];
    sample.name = name;
    sample.format = name;
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace concur::qa

#endif  // CONCUR_TESTS_QA_IMPORTERS_SAMPLES_H_
