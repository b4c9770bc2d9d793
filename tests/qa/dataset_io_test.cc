// SPDX-License-Identifier: Apache-2.0
#include "qa/dataset_io.h"

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/raw_stream.h"
#include "tests/testing/gzip.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

using ::concur::testing::Gzip;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class DatasetIoTest : public ::testing::Test {
 protected:
  absl::StatusOr<Dataset> Read(const std::string& contents) {
    const std::string path = directory_.File("data");
    EXPECT_OK(WriteFileAtomically(path, contents));
    return ReadDataset(path);
  }

  TempDir directory_;
};

constexpr char kMrqa[] =
    R"({"header": {"dataset": "Tiny", "seed": 7, "parts": ["a"]}}
{"context": "Ann met Bob.", "qas": [{"qid": "q1", "question": "Who?", "answers": ["Bob"], "detected_answers": [{"text": "Bob", "char_spans": [[8, 10]]}]}]}
)";

TEST_F(DatasetIoTest, MrqaLinesAreRead) {
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, Read(kMrqa));
  EXPECT_EQ(dataset.header, (Header{{"dataset", "Tiny"}, {"seed", "7"}, {"parts", "[\"a\"]"}}));
  ASSERT_EQ(dataset.passages.size(), 1);
  EXPECT_EQ(dataset.passages[0].context, "Ann met Bob.");
  ASSERT_EQ(dataset.passages[0].questions.size(), 1);
  const Question& question = dataset.passages[0].questions[0];
  EXPECT_EQ(question.id, "q1");
  EXPECT_EQ(question.text, "Who?");
  EXPECT_THAT(question.answers, ElementsAre("Bob"));
  EXPECT_THAT(question.spans, ElementsAre(Span{8, 11}));
}

TEST_F(DatasetIoTest, ByteOrderMarkCarriageReturnsAndBlankLinesAreTolerated) {
  std::string contents = "\xEF\xBB\xBF\r\n";
  for (const char c : std::string(kMrqa)) {
    contents += c == '\n' ? "\r\n\r\n" : std::string(1, c);
  }
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, Read(contents));
  EXPECT_EQ(dataset.QuestionCount(), 1);
  EXPECT_EQ(dataset.header.at("dataset"), "Tiny");
}

TEST_F(DatasetIoTest, PlacesCountCodePointsInFilesAndBytesInMemory) {
  ASSERT_OK_AND_ASSIGN(
      const Dataset mrqa,
      Read(
          R"({"context": "Zoë 😀 rêve à Łódź", "qas": [{"qid": "q", "question": "?", "answers": ["Łódź"], "detected_answers": [{"text": "Łódź", "char_spans": [[13, 16], [0, 2]]}]}]})"));
  const Passage& passage = mrqa.passages[0];
  ASSERT_EQ(passage.questions[0].spans.size(), 2);
  const Span span = passage.questions[0].spans[0];
  EXPECT_EQ(passage.context.substr(span.begin, span.end - span.begin), "Łódź");
  EXPECT_EQ(passage.questions[0].spans[1], (Span{0, 4}));

  ASSERT_OK_AND_ASSIGN(
      const Dataset squad,
      Read(
          R"({"data": [{"title": "T", "paragraphs": [{"context": "Zoë 😀 rêve à Łódź", "qas": [{"id": "q", "question": "?", "answers": [{"text": "Łódź", "answer_start": 13}]}]}]}], "version": "1.1"})"));
  EXPECT_THAT(squad.passages[0].questions[0].spans, ElementsAre(span));
  EXPECT_EQ(squad.passages[0].title, "T");
}

TEST_F(DatasetIoTest, FormattedSquadIsRead) {
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, Read(R"({
  "version": "1.1",
  "data": [
    {
      "paragraphs": [
        {
          "context": "a b",
          "qas": [{"id": "1", "question": "?",
                   "answers": [{"text": "b", "answer_start": 2}, {"text": "b", "answer_start": 2}]}]
        }
      ]
    }
  ]
}
)"));
  ASSERT_EQ(dataset.QuestionCount(), 1);
  EXPECT_THAT(dataset.passages[0].questions[0].answers, ElementsAre("b", "b"));
  EXPECT_THAT(dataset.passages[0].questions[0].spans, ElementsAre(Span{2, 3}));
}

TEST_F(DatasetIoTest, SquadPlaceThatHoldsAnotherTextMarksNoSpan) {
  ASSERT_OK_AND_ASSIGN(
      const Dataset dataset,
      Read(
          R"({"data": [{"paragraphs": [{"context": "a b", "qas": [{"id": "1", "question": "?", "answers": [{"text": "b", "answer_start": 0}]}]}]}]})"));
  EXPECT_THAT(dataset.passages[0].questions[0].answers, ElementsAre("b"));
  EXPECT_THAT(dataset.passages[0].questions[0].spans, IsEmpty());
}

TEST_F(DatasetIoTest, GzippedFilesOfSeveralMembersAreRead) {
  const std::string first = R"({"context": "a", "qas": []})";
  ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                       Read(Gzip(kMrqa) + Gzip(first.substr(0, 9)) + Gzip(first.substr(9))));
  EXPECT_EQ(dataset.passages.size(), 2);
}

TEST_F(DatasetIoTest, GzipCutAnywhereIsDataLoss) {
  const std::string packed = Gzip(kMrqa);
  for (size_t size = 2; size < packed.size(); ++size) {
    EXPECT_THAT(Read(packed.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ends early")))
        << size;
  }
}

TEST_F(DatasetIoTest, DamagedGzipIsDataLoss) {
  std::string packed = Gzip(kMrqa);
  EXPECT_THAT(Read(packed + "junk"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("end of the file or another")));
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_THAT(Read(packed), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")));
}

// `text` packed by one of libarchive's filters.
std::string Packed(const std::string& filter, const std::string& text) {
  std::string packed(text.size() + 4096, '\0');
  size_t used = 0;
  archive* writer = archive_write_new();
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_set_format_raw(writer);
  EXPECT_EQ(archive_write_add_filter_by_name(writer, filter.c_str()), ARCHIVE_OK);
  archive_write_set_bytes_in_last_block(writer, 1);
  archive_write_open_memory(writer, packed.data(), packed.size(), &used);
  archive_write_header(writer, entry);
  archive_write_data(writer, text.data(), text.size());
  archive_write_close(writer);
  archive_entry_free(entry);
  archive_write_free(writer);
  packed.resize(used);
  return packed;
}

TEST_F(DatasetIoTest, XzBzip2AndZstdAreRead) {
  for (const char* filter : {"xz", "bzip2", "zstd"}) {
    const std::string packed = Packed(filter, kMrqa);
    ASSERT_OK_AND_ASSIGN(const Dataset dataset, Read(packed));
    EXPECT_EQ(dataset.passages.size(), 1) << filter;
    for (const size_t size : {packed.size() / 2, packed.size() - 1}) {
      EXPECT_THAT(Read(packed.substr(0, size)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("fetch or build it again")))
          << filter << " " << size;
    }
    EXPECT_THAT(Read(absl::StrCat(packed, "junk")),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("again")))
        << filter;
    const std::string bomb = Packed(filter, std::string(size_t{80} << 20, ' '));
    EXPECT_THAT(Read(bomb), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("unpacks to more than 100 times its size")))
        << filter;
  }
}

// All bytes of a gzip file that unpacks to so many.
absl::Status Drain(size_t unpacked_bytes) {
  const concur::testing::TempDir temp;
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(
      temp.File("d.gz"), concur::testing::GzipRepeated("", ' ', unpacked_bytes)));
  CONCUR_ASSIGN_OR_RETURN(const auto stream, RawStream::Open(temp.File("d.gz")));
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const absl::string_view block, stream->Next());
    if (block.empty()) {
      return absl::OkStatus();
    }
  }
}

// A gzip file of 1.9 MB with one record of 1.9 GB took 5.85 GB, and killed the worker that read it.
TEST(RawStreamTest, ASmallFileThatUnpacksToFarMoreIsRefused) {
  EXPECT_THAT(Drain(size_t{80} << 20),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unpacks to more than 100 times its size")));
  EXPECT_OK(Drain(size_t{60} << 20));
}

TEST_F(DatasetIoTest, ARecordOfMoreThan32MiBIsRefused) {
  const std::string context(size_t{33} << 20, 'a');
  EXPECT_THAT(Read(absl::StrCat(kMrqa, R"({"context": ")", context, R"(", "qas": []})")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 32 MiB")));
}

TEST_F(DatasetIoTest, ADataSetThatIsHeldWholeHasALimitOfMemory) {
  std::string lines = kMrqa;
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&lines, R"({"context": ")", std::string(10'000, 'a'),
                    R"(", "qas": [{"qid": "many)", i,
                    R"(", "question": "?", "detected_answers": [], "answers": ["a"]}]})", "\n");
  }
  const std::string path = directory_.File("large.jsonl.gz");
  ASSERT_OK(WriteFileAtomically(path, Gzip(lines)));
  EXPECT_OK(ReadDataset(path, int64_t{4} << 20));
  EXPECT_THAT(ReadDataset(path, int64_t{2} << 20),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(path + ": the data takes more than 2 MiB of memory")));
}

struct BadCase {
  const char* name;
  std::string contents;
  const char* message;
};

std::string Squad(const std::string& paragraph) {
  return absl::StrCat(R"({"data": [{"paragraphs": [)", paragraph, "]}]}");
}
std::string SquadQuestion(const std::string& question) {
  return Squad(absl::StrCat(R"({"context": "abc", "qas": [)", question, "]}"));
}
std::string Line(const std::string& question) {
  return absl::StrCat(R"({"context": "abc", "qas": [)", question, "]}\n");
}

std::vector<BadCase> BadCases() {
  const std::string good = Line(R"({"qid": "1", "question": "?", "answers": ["a"]})");
  return {
      {"empty file", "", "the file is empty"},
      {"blank file", " \n\r\n\t", "the file is empty"},
      {"no question", R"({"context": "abc", "qas": []})", "at least one question"},
      {"no passage", R"({"header": {}})", "at least one question"},
      {"no article", R"({"data": []})", "at least one question"},
      {"UTF-16", std::string("\xFF\xFE{\0", 4), "UTF-16"},
      {"not JSON", "hello\nworld\n", "data:1: not valid JSON: line 1, column 1"},
      {"half a line", good + "{\"context\": \"ab", ":2: not valid JSON: line 2, column 1"},
      {"NaN", "{\"context\": NaN, \"qas\": []}", "not valid JSON: line 1, column 13"},
      {"invalid UTF-8", "{\"context\": \"a\xC3(\", \"qas\": []}",
       "expected UTF-8, found byte 0xc3"},
      {"lone surrogate", R"({"context": "\ud800", "qas": []})", "not valid JSON"},
      {"scalar", "3\n", ":1: line: expected an object, got 3"},
      {"list", "[]", "line: expected an object, got a list"},
      {"other object", R"({"name": "x"})", "expected an MRQA passage"},
      {"late header", good + R"({"header": {}})", ":2: header: expected on the first line only"},
      {"header text", R"({"header": "x"})", "header: expected an object, got \"x\""},
      {"no context", R"({"qas": []})", ":1: context: missing"},
      {"context type", R"({"context": 3, "qas": []})", "context: expected a string, got 3"},
      {"no qas", R"({"context": "a"})", "qas: missing; expected a list"},
      {"qas type", R"({"context": "a", "qas": {}})", "qas: expected a list, got an object"},
      {"question type", Line("[]"), ":1: qas[0]: question: expected an object, got a list"},
      {"no qid", Line(R"({"question": "?", "answers": ["a"]})"), "qas[0]: qid: missing"},
      {"empty qid", Line(R"({"qid": "", "question": "?", "answers": ["a"]})"),
       "qid: expected an id"},
      {"fraction qid", Line(R"({"qid": 1.5, "question": "?", "answers": ["a"]})"),
       "qid: expected a string, got 1.5"},
      {"twice the field", R"({"context": "a", "context": "b", "qas": []})",
       "context: appears twice in one object"},
      {"twice the id", good + good, ":2: qas[0]: qid: \"1\" appears twice"},
      {"no answer", Line(R"({"qid": "1", "question": "?", "answers": []})"),
       "answers: expected at least one"},
      {"answer type", Line(R"({"qid": "1", "question": "?", "answers": [null]})"),
       "answers: expected a string, got null"},
      {"answers type", Line(R"({"qid": "1", "question": "?", "answers": "a"})"),
       "answers: expected a list, got \"a\""},
      {"span beyond",
       Line(
           R"({"qid": "1", "question": "?", "answers": ["a"], "detected_answers": [{"char_spans": [[0, 3]]}]})"),
       "within the context's 3 characters, got [0,3]"},
      {"span of three",
       Line(
           R"({"qid": "1", "question": "?", "answers": ["a"], "detected_answers": [{"char_spans": [[0, 1, 2]]}]})"),
       "expected [first, last]"},
      {"span backwards",
       Line(
           R"({"qid": "1", "question": "?", "answers": ["a"], "detected_answers": [{"char_spans": [[1, 0]]}]})"),
       "expected [first, last]"},
      {"span of text",
       Line(
           R"({"qid": "1", "question": "?", "answers": ["a"], "detected_answers": [{"char_spans": [["0", 1]]}]})"),
       "expected [first, last]"},
      {"data type", R"({"data": {}})", "data: expected a list, got an object"},
      {"no paragraphs", R"({"data": [{}]})", "data[0]: paragraphs: missing"},
      {"paragraph type", Squad("3"), "data[0].paragraphs[0]: paragraph: expected an object, got 3"},
      {"squad no context", Squad(R"({"qas": []})"), "data[0].paragraphs[0]: context: missing"},
      {"squad no id", SquadQuestion(R"({"question": "?"})"), ".qas[0]: id: missing"},
      {"squad 2.0", SquadQuestion(R"({"id": "x", "question": "?", "answers": []})"),
       "(id \"x\"): answers: expected at least one answer, got none (unanswerable"},
      {"start type",
       SquadQuestion(
           R"({"id": "x", "question": "?", "answers": [{"text": "a", "answer_start": 0.5}]})"),
       "answer_start: expected a place within the context's 3 characters, got 0.5"},
      {"start beyond",
       SquadQuestion(
           R"({"id": "x", "question": "?", "answers": [{"text": "a", "answer_start": 4}]})"),
       "got 4"},
      {"start negative",
       SquadQuestion(
           R"({"id": "x", "question": "?", "answers": [{"text": "a", "answer_start": -1}]})"),
       "got -1"},
      {"no text", SquadQuestion(R"({"id": "x", "question": "?", "answers": [{}]})"),
       "answers.text: missing"},
      {"squad and more", Squad("") + "\n" + Squad(""), ":2: expected nothing after the document"},
      {"squad cut", Squad("3").substr(0, 20), "ends early, inside the list data"},
      {"squad around", R"({"data": [] x})", "not valid JSON around the items"},
      {"too deep", std::string(100000, '['), "not valid JSON"},
  };
}

TEST_F(DatasetIoTest, BadFilesAreRefusedWithPlaceAndReason) {
  for (const BadCase& bad : BadCases()) {
    EXPECT_THAT(Read(bad.contents), StatusIs(kInvalid, AllOf(HasSubstr(directory_.File("data")),
                                                             HasSubstr(bad.message))))
        << bad.name;
  }
}

TEST_F(DatasetIoTest, AbsentFileIsNotFound) {
  EXPECT_THAT(ReadDataset(directory_.File("absent")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
  EXPECT_THAT(ReadDataset(directory_.path()), StatusIs(kInvalid, HasSubstr("directory")));
}

TEST_F(DatasetIoTest, ErrorOfTheConsumerEndsTheReading) {
  const std::string path = directory_.File("data");
  ASSERT_OK(WriteFileAtomically(path, absl::StrCat(R"({"context": "a", "qas": []})", "\n",
                                                   R"({"context": "b", "qas": []})")));
  int seen = 0;
  EXPECT_THAT(ForEachPassage(path,
                             [&](Passage) {
                               ++seen;
                               return absl::CancelledError("enough");
                             }),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_EQ(seen, 1);
}

// The keys and strings of a SQuAD file fall on the ends of blocks somewhere.
TEST_F(DatasetIoTest, SquadReadsTheSameHoweverItsBytesFallIntoBlocks) {
  const std::string paragraph =
      R"({"context": "a \"b\\\" {[,", "qas": [{"id": "1", "question": "\\", "answers": [{"text": "b", "answer_start": 3}]}]})";
  for (size_t padding = (size_t{1} << 18) - 200; padding < (size_t{1} << 18); ++padding) {
    ASSERT_OK_AND_ASSIGN(
        const Dataset dataset,
        Read(absl::StrCat(
            "{\"version\": \"", std::string(padding, '\\') + (padding % 2 == 1 ? "\\" : ""),
            "\", \"data\" : [{\"title\": \"data\", \"paragraphs\": [", paragraph, "]}]}")));
    ASSERT_EQ(dataset.QuestionCount(), 1) << padding;
    EXPECT_EQ(dataset.passages[0].context, "a \"b\\\" {[,");
    EXPECT_EQ(dataset.passages[0].questions[0].text, "\\");
  }
}

TEST_F(DatasetIoTest, VeryLongLineIsRead) {
  const std::string path = directory_.File("long.jsonl");
  std::string contents = R"({"context": ")";
  contents.append(size_t{31} << 20, 'x');
  contents += R"(", "qas": [{"qid": "1", "question": "?", "answers": ["x"]}]})";
  ASSERT_OK(WriteFileAtomically(path, contents));
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, ReadDataset(path));
  EXPECT_EQ(dataset.passages[0].context.size(), size_t{31} << 20);
}

Passage SamplePassage() {
  Passage passage;
  passage.title = "T\"1\"";
  passage.context = "Zoë\tsaw a \\ and 😀 and Zoë\n\x01";
  passage.questions = {
      {"q1", "Who?", {"Zoë", "zoë"}, {{0, 4}, {26, 30}, {17, 21}, {0, 3}}},
      {"q2", "No span?", {"x"}, {}},
  };
  passage.questions[0].spans[3] = {5, 8};
  return passage;
}

TEST_F(DatasetIoTest, WhatTheWriterWritesReadsBackEqual) {
  for (const char* name : {"out.jsonl", "out.jsonl.gz"}) {
    const std::string path = directory_.File(name);
    const Header header{{"dataset", "X \"y\""}, {"seed", "1"}};
    ASSERT_OK_AND_ASSIGN(const auto writer, DatasetWriter::Create(path, header));
    ASSERT_OK(writer->Write(SamplePassage()));
    EXPECT_FALSE(std::filesystem::exists(path)) << "a file appears only when it is complete";
    ASSERT_OK(writer->Finish());
    ASSERT_OK_AND_ASSIGN(const Dataset dataset, ReadDataset(path));
    EXPECT_EQ(dataset.header, header);
    EXPECT_THAT(dataset.passages, ElementsAre(SamplePassage()));
    EXPECT_THAT(writer->Finish(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(name)));
    EXPECT_THAT(writer->Write(SamplePassage()), Not(IsOk()));
  }
}

TEST_F(DatasetIoTest, SamePassagesGiveSameBytes) {
  std::vector<std::string> bytes;
  for (const char* name : {"a.gz", "b.gz"}) {
    ASSERT_OK_AND_ASSIGN(const auto writer, DatasetWriter::Create(directory_.File(name), {}));
    for (int i = 0; i < 3000; ++i) {
      Passage passage = SamplePassage();
      passage.questions[0].id = absl::StrCat("a", i);
      passage.questions[1].id = absl::StrCat("b", i);
      ASSERT_OK(writer->Write(passage));
    }
    ASSERT_OK(writer->Finish());
    ASSERT_OK_AND_ASSIGN(bytes.emplace_back(), ReadFile(directory_.File(name)));
  }
  EXPECT_TRUE(bytes[0] == bytes[1]);
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, ReadDataset(directory_.File("a.gz")));
  EXPECT_EQ(dataset.QuestionCount(), 6000);
}

TEST_F(DatasetIoTest, DroppedWriterLeavesNothing) {
  {
    ASSERT_OK_AND_ASSIGN(const auto writer, DatasetWriter::Create(directory_.File("x.gz"), {}));
    ASSERT_OK(writer->Write(SamplePassage()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(DatasetIoTest, WriterRefusesWhatTheReaderWouldRefuse) {
  ASSERT_OK_AND_ASSIGN(const auto writer, DatasetWriter::Create(directory_.File("x"), {}));
  Passage cut = SamplePassage();
  cut.questions[0].spans = {{0, 3}};  // within "ë"
  EXPECT_THAT(writer->Write(cut), StatusIs(kInvalid, HasSubstr("question \"q1\": spans")));
  Passage beyond = SamplePassage();
  beyond.questions[0].spans = {{0, 1000}};
  EXPECT_THAT(writer->Write(beyond), StatusIs(kInvalid, HasSubstr("[0, 1000)")));
  Passage bytes = SamplePassage();
  bytes.context = "a\xFF";
  EXPECT_THAT(writer->Write(bytes), StatusIs(kInvalid, HasSubstr("context: expected UTF-8")));
  Passage no_answer = SamplePassage();
  no_answer.questions[1].answers.clear();
  EXPECT_THAT(writer->Write(no_answer), StatusIs(kInvalid, HasSubstr("at least one")));
  EXPECT_OK(writer->Finish());
}

TEST(SharedDataTest, RealFilesAreRead) {
  const char* shared = std::getenv("CONCUR_SHARED_DIR");  // NOLINT(concurrency-mt-unsafe)
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string data =
      absl::StrCat(shared != nullptr ? std::string(shared)
                                     : absl::StrCat(source == nullptr ? "." : source, "/../shared"),
                   "/data/");
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << data << " is absent";
  }
  ASSERT_OK_AND_ASSIGN(const Dataset squad, ReadDataset(data + "squad/dev-v1.1.json"));
  EXPECT_EQ(squad.QuestionCount(), 10570);
  for (const Passage& passage : squad.passages) {
    for (const Question& question : passage.questions) {
      EXPECT_FALSE(question.spans.empty()) << question.id;
    }
  }
  ASSERT_OK_AND_ASSIGN(const Dataset mrqa, ReadDataset(data + "mrqa/SQuAD-dev.jsonl.gz"));
  EXPECT_EQ(mrqa.passages.size(), 2067);
  EXPECT_EQ(mrqa.QuestionCount(), 10507);
  EXPECT_EQ(mrqa.header.at("split"), "dev");
  ASSERT_OK_AND_ASSIGN(const Dataset wiki, ReadDataset(data + "squadshifts/new_wiki_v1.0.json"));
  EXPECT_EQ(wiki.QuestionCount(), 7938);
  ASSERT_OK_AND_ASSIGN(const Dataset reddit, ReadDataset(data + "squadshifts/reddit_v1.0.json"));
  EXPECT_EQ(reddit.QuestionCount(), 9803);
  EXPECT_OK(ReadDataset(data + "mrqa/NewsQA_sample.jsonl"));
}

}  // namespace
}  // namespace concur::qa
