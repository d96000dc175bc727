//===- GenerateTest.cpp - generation, likelihood, traces, C interface -----===//

#include "llmc/Runtime/Batch.h"
#include "TinyArtifact.h"
#include "llmc/Runtime/Trace.h"
#include "llmc/Runtime/llmc.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace llmc::rt::test {
namespace {

std::vector<int32_t> greedyReference(std::vector<int32_t> tokens, int64_t count,
                                     bool recurrent = false) {
  std::vector<int32_t> chosen;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float> logits = tinyReference(tokens, 1, recurrent).back();
    chosen.push_back(int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    tokens.push_back(chosen.back());
  }
  return chosen;
}

TEST(Generator, GreedyEqualsReferenceAndReusesThePrefix) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2, .poison = true, .permuteBlocks = true});
  Generator generator(session);
  std::vector<int32_t> prompt = tinyTokens(21);
  GenerateResult first = generator.generate(prompt, {.maxTokens = 6});
  EXPECT_EQ(first.tokens, greedyReference(prompt, 6));
  EXPECT_EQ(first.finish, FinishReason::Length);
  EXPECT_EQ(first.timing.promptTokens, 21);
  EXPECT_EQ(first.timing.decodedTokens, 5);
  EXPECT_GE(first.timing.firstTokenSeconds, first.timing.prefillSeconds);

  std::vector<int32_t> longer = prompt;
  longer.insert(longer.end(), first.tokens.begin(), first.tokens.end());
  longer.push_back(3);
  GenerateResult second = generator.generate(longer, {.maxTokens = 4});
  EXPECT_EQ(second.tokens, greedyReference(longer, 4));
  EXPECT_EQ(second.timing.reusedTokens, 26);

  GenerateResult again = generator.generate(prompt, {.maxTokens = 6});
  EXPECT_EQ(again.tokens, first.tokens);
  EXPECT_EQ(again.timing.promptTokens, 1);
}

// State of a sequence goes on at its end and nowhere else.
TEST(Generator, AConversationOfRecurrentStateGoesOnAtItsEnd) {
  TemporaryFolder folder;
  writeTiny(folder.path(), 1, makeRecurrent);
  Session session(Artifact::open(folder.path()),
                  {.threads = 2, .poison = true, .permuteBlocks = true});
  Generator generator(session);
  std::vector<int32_t> prompt = tinyTokens(21);
  GenerateResult first = generator.generate(prompt, {.maxTokens = 6});
  EXPECT_EQ(first.tokens, greedyReference(prompt, 6, true));
  std::vector<int32_t> longer = prompt;
  longer.insert(longer.end(), first.tokens.begin(), first.tokens.end());
  longer.push_back(3);
  GenerateResult second = generator.generate(longer, {.maxTokens = 4});
  EXPECT_EQ(second.tokens, greedyReference(longer, 4, true));
  EXPECT_EQ(second.timing.reusedTokens, 26);
  GenerateResult again = generator.generate(prompt, {.maxTokens = 6});
  EXPECT_EQ(again.tokens, first.tokens);
  EXPECT_EQ(again.timing.reusedTokens, 0);
  int steps = 0;
  session.observe([&](const Observation &seen) {
    if (seen.layer == -1 && ++steps == 4)
      session.cancel();
  });
  EXPECT_EQ(generator.generate(longer, {.maxTokens = 9}).finish, FinishReason::Cancelled);
  session.observe({});
  EXPECT_EQ(generator.generate(longer, {.maxTokens = 4}).tokens, second.tokens);
}

TEST(Generator, EndsWithTheContext) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 1, .maxContext = 10});
  Generator generator(session);
  GenerateResult result = generator.generate(tinyTokens(7));
  EXPECT_EQ(result.finish, FinishReason::Context);
  EXPECT_EQ(result.tokens.size(), 4u);
  EXPECT_THROW(generator.generate(tinyTokens(11)), InputError);
  EXPECT_THROW(generator.generate({}), InputError);
  EXPECT_EQ(generator.generate(tinyTokens(10)).tokens.size(), 1u);
  EXPECT_TRUE(generator.generate(tinyTokens(3), {.maxTokens = 0}).tokens.empty());
}

TEST(Generator, CancelKeepsWhatThereIs) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2});
  Generator generator(session);
  int steps = 0;
  session.observe([&](const Observation &seen) {
    if (seen.layer == -1 && ++steps == 4)
      session.cancel();
  });
  std::vector<int32_t> prompt = tinyTokens(5);
  GenerateResult result = generator.generate(prompt, {.maxTokens = 10});
  EXPECT_EQ(result.finish, FinishReason::Cancelled);
  EXPECT_EQ(result.tokens, greedyReference(prompt, 3));
  session.observe({});
  EXPECT_EQ(generator.generate(prompt, {.maxTokens = 5}).tokens, greedyReference(prompt, 5));
}

TEST(Generator, ScoresAreThoseOfTheReference) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2, .poison = true});
  Generator generator(session);
  std::vector<int32_t> prompt = tinyTokens(9);
  GenerateResult plain = generator.generate(prompt, {.maxTokens = 4});
  EXPECT_TRUE(plain.scores.empty() && plain.promptScores.empty());
  GenerateResult scored =
      generator.generate(prompt, {.maxTokens = 4, .logprobs = 3, .promptLogprobs = true});
  EXPECT_EQ(scored.tokens, plain.tokens);
  ASSERT_EQ(scored.scores.size(), 4u);
  ASSERT_EQ(scored.promptScores.size(), prompt.size() - 1);
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), scored.tokens.begin(), scored.tokens.end());
  std::vector<std::vector<float>> logits = tinyReference(all);
  for (size_t i = 1; i < all.size(); ++i) {
    const TokenScore &score =
        i < prompt.size() ? scored.promptScores[i - 1] : scored.scores[i - prompt.size()];
    EXPECT_EQ(score.id, all[i]);
    EXPECT_NEAR(score.logprob, logProbability(logits[i - 1], all[i]), 1e-12);
    ASSERT_EQ(score.top.size(), 3u);
    EXPECT_GE(score.top[0].logprob, score.top[1].logprob);
    EXPECT_GE(score.top[1].logprob, score.top[2].logprob);
    EXPECT_EQ(score.top[0].id, int32_t(std::max_element(logits[i - 1].begin(), logits[i - 1].end()) -
                                       logits[i - 1].begin()));
  }
}

TEST(BatchGenerator, AnswersAreThoseOfRunsAlone) {
  TemporaryFolder folder;
  auto artifact = openTiny(folder);
  std::vector<GenerateOptions> options = {
      {.maxTokens = 6, .logprobs = 2, .promptLogprobs = true},
      {.maxTokens = 9, .sampler = {.temperature = 0.9, .seed = 7}, .logprobs = 0},
      {.maxTokens = 0},
      {.maxTokens = 3}};
  std::vector<GenerateResult> alone, shared(options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    Session session(artifact, {.threads = 1});
    alone.push_back(Generator(session).generate(tinyTokens(int64_t(3 + 4 * i), uint32_t(i)),
                                                options[i]));
  }
  Session session(artifact, {.threads = 2, .poison = true, .permuteBlocks = true});
  BatchGenerator batch(session, {.chunk = 3});
  for (size_t i = 0; i < options.size(); ++i)
    batch.submit(tinyTokens(int64_t(3 + 4 * i), uint32_t(i)), options[i],
                 [&shared, i](GenerateResult result, std::exception_ptr error) {
                   EXPECT_FALSE(error);
                   shared[i] = std::move(result);
                 });
  EXPECT_EQ(batch.pending(), 4);
  while (batch.step())
    ;
  EXPECT_EQ(batch.pending(), 0);
  for (size_t i = 0; i < options.size(); ++i) {
    EXPECT_EQ(shared[i].tokens, alone[i].tokens) << i;
    EXPECT_EQ(shared[i].finish, alone[i].finish);
    ASSERT_EQ(shared[i].scores.size(), alone[i].scores.size());
    ASSERT_EQ(shared[i].promptScores.size(), alone[i].promptScores.size());
    for (size_t k = 0; k < alone[i].scores.size(); ++k)
      EXPECT_EQ(shared[i].scores[k].logprob, alone[i].scores[k].logprob);
    for (size_t k = 0; k < alone[i].promptScores.size(); ++k)
      EXPECT_EQ(shared[i].promptScores[k].logprob, alone[i].promptScores[k].logprob);
  }
  EXPECT_THROW(batch.submit({}, {}, {}), InputError);
}

TEST(Perplexity, IsTheMeanOfAllButTheFirst) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2});
  std::vector<int32_t> tokens = tinyTokens(40);
  auto logits = tinyReference(tokens);
  double sum = 0;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    double total = 0;
    for (float logit : logits[i])
      total += std::exp(double(logit));
    sum += std::log(total) - double(logits[i][size_t(tokens[i + 1])]);
  }
  Perplexity got = measurePerplexity(session, tokens);
  EXPECT_NEAR(got.meanNll, sum / 39, 1e-12);
  EXPECT_EQ(got.tokens, 39);
  EXPECT_THROW(measurePerplexity(session, std::span(tokens).first(1)), InputError);
  EXPECT_EQ(got.windows, 1);
}

/// The context has 48 tokens. Whole windows, one more and one less.
TEST(Perplexity, OfALongTextIsThatOfItsWindows) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2});
  for (auto [count, windows] : {std::pair(48, 1), {49, 1}, {50, 2}, {60, 2}, {97, 2}, {98, 3}}) {
    std::vector<int32_t> tokens = tinyTokens(count);
    double sum = 0;
    for (size_t begin = 0; begin + 1 < tokens.size(); begin += 48) {
      size_t end = std::min(begin + 48, tokens.size() - 1);
      std::vector<int32_t> window(tokens.begin() + long(begin), tokens.begin() + long(end));
      auto logits = tinyReference(window);
      for (size_t i = 0; i < window.size(); ++i) {
        double total = 0;
        for (float logit : logits[i])
          total += std::exp(double(logit));
        sum += std::log(total) - double(logits[i][size_t(tokens[begin + i + 1])]);
      }
    }
    Perplexity got = measurePerplexity(session, tokens);
    EXPECT_NEAR(got.meanNll, sum / (count - 1), 1e-12) << count;
    EXPECT_EQ(got.tokens, count - 1);
    EXPECT_EQ(got.windows, windows) << count;
  }
}

TEST(Trace, HoldsEveryPositionWhateverTheChunks) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2, .poison = true, .permuteBlocks = true});
  std::vector<int32_t> prompt = tinyTokens(20);
  std::vector<TraceTensor> whole = traceSession(session, prompt, {.greedy = 3});
  std::vector<std::string> names;
  for (const TraceTensor &tensor : whole)
    names.push_back(tensor.name);
  EXPECT_THAT(names, testing::ElementsAre("hidden.0", "hidden.1", "hidden.2", "hidden.3", "logits",
                                          "greedy", "greedy_logits"));
  auto want = tinyReference(prompt);
  const auto &logits = std::get<std::vector<float>>(whole[4].data);
  for (size_t t = 0; t < prompt.size(); ++t)
    for (size_t v = 0; v < size_t(vocab); ++v)
      EXPECT_EQ(logits[t * size_t(vocab) + v], want[t][v]);
  std::vector<int32_t> greedy = greedyReference(prompt, 3);
  EXPECT_EQ(std::get<std::vector<int64_t>>(whole[5].data),
            std::vector<int64_t>(greedy.begin(), greedy.end()));
  for (int64_t chunk : {1, 7}) {
    auto cut = traceSession(session, prompt,
                            {.greedy = 3, .chunk = chunk, .otherPrompt = tinyTokens(9, 5)});
    ASSERT_EQ(cut.size(), whole.size());
    for (size_t i = 0; i < cut.size(); ++i) {
      EXPECT_EQ(cut[i].shape, whole[i].shape);
      EXPECT_EQ(cut[i].data, whole[i].data) << cut[i].name;
    }
  }
  EXPECT_EQ(traceSession(session, prompt, {.onlyLogits = true}).size(), 1u);
}

TEST(TraceFile, RoundTripAndRefusals) {
  TemporaryFolder folder;
  auto path = folder.path() / "t.safetensors";
  std::vector<TraceTensor> tensors = {{"input_ids", {1, 3}, std::vector<int64_t>{4, 5, 6}},
                                      {"x", {2, 2}, std::vector<float>{1, 2, 3, 4}},
                                      {"none", {0, 8}, std::vector<float>{}}};
  writeTraceFile(path, tensors);
  std::vector<TraceTensor> got = readTraceFile(path);
  ASSERT_EQ(got.size(), 3u);
  for (const TraceTensor &tensor : got)
    for (const TraceTensor &want : tensors)
      if (want.name == tensor.name) {
        EXPECT_EQ(want.shape, tensor.shape);
        EXPECT_EQ(want.data, tensor.data);
      }
  EXPECT_EQ(readInputIds(path), (std::vector<int32_t>{4, 5, 6}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  auto withHeader = [&](const std::string &header, const std::string &data) {
    uint64_t size = header.size();
    writeFile(path, std::string(reinterpret_cast<char *>(&size), 8) + header + data);
  };
  for (const char *header :
       {R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 12]}})",
        R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})",
        R"({"x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}})",
        R"({"x": {"dtype": "F32", "shape": [9007199254740992, 4096], "data_offsets": [0, 0]}})",
        R"([1])", R"({"x": 1})", "{"}) {
    withHeader(header, std::string(8, 'x'));
    EXPECT_THROW(readTraceFile(path), InputError) << header;
  }
  writeFile(path, "short");
  EXPECT_THROW(readTraceFile(path), InputError);
  EXPECT_THROW(readInputIds(folder.path() / "absent"), InputError);
  EXPECT_THROW(writeTraceFile(folder.path() / "no" / "t", tensors), InputError);
}

TEST(CInterface, FromFolderToTokens) {
  TemporaryFolder folder;
  writeTiny(folder.path());
  llmc_artifact *artifact = nullptr;
  EXPECT_EQ(llmc_artifact_open("/nowhere", 0, &artifact), LLMC_ERROR_INPUT);
  EXPECT_THAT(llmc_error_message(), testing::HasSubstr("/nowhere"));
  EXPECT_EQ(llmc_artifact_open(nullptr, 0, &artifact), LLMC_ERROR_USAGE);
  ASSERT_EQ(llmc_artifact_open(folder.path().c_str(), LLMC_OPEN_VERIFY_HASHES, &artifact), LLMC_OK);
  llmc_artifact_info info;
  llmc_artifact_describe(artifact, &info);
  EXPECT_EQ(info.vocab_size, vocab);
  EXPECT_STREQ(info.architecture, "tiny");
  size_t count = 0;
  EXPECT_EQ(llmc_artifact_encode(artifact, "a", 1, 1, nullptr, &count), LLMC_ERROR_INPUT);
  EXPECT_THAT(llmc_error_message(), testing::HasSubstr("tokenizer"));

  llmc_session_options options{};
  llmc_session *session = nullptr;
  EXPECT_EQ(llmc_session_create(artifact, &options, &session), LLMC_ERROR_USAGE);
  options.size = sizeof options;
  options.threads = 2;
  ASSERT_EQ(llmc_session_create(artifact, &options, &session), LLMC_OK);
  llmc_artifact_close(artifact);
  llmc_session_arena arenas[8];
  ASSERT_EQ(llmc_session_list_arenas(session, arenas, 8), 4u);
  EXPECT_STREQ(arenas[1].kind, "state");
  EXPECT_EQ(arenas[1].planned_bytes, arenas[1].allocated_bytes);

  std::vector<int32_t> prompt = tinyTokens(6);
  int32_t sequence;
  ASSERT_EQ(llmc_session_add_sequence(session, &sequence), LLMC_OK);
  llmc_step_input input{sequence, LLMC_LOGITS_LAST, prompt.data(), prompt.size()};
  const float *logits;
  int64_t rows, stride;
  ASSERT_EQ(llmc_session_step(session, &input, 1, &logits, &rows, &stride), LLMC_OK);
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(std::vector<float>(logits, logits + stride), tinyReference(prompt).back());
  llmc_session_cancel(session);
  EXPECT_EQ(llmc_session_step(session, &input, 1, &logits, &rows, &stride), LLMC_CANCELLED);
  EXPECT_EQ(llmc_session_remove_sequence(session, sequence), LLMC_OK);
  EXPECT_EQ(llmc_session_remove_sequence(session, sequence), LLMC_ERROR_USAGE);

  double nll;
  EXPECT_EQ(llmc_session_measure_perplexity(session, prompt.data(), prompt.size(), &nll), LLMC_OK);
  EXPECT_GT(nll, 0);
  llmc_generator *generator;
  ASSERT_EQ(llmc_generator_create(session, &generator), LLMC_OK);
  llmc_generate_options wanted;
  llmc_generate_options_init(&wanted);
  wanted.max_tokens = 5;
  llmc_generate_result result;
  ASSERT_EQ(llmc_generator_run(generator, prompt.data(), prompt.size(), &wanted, &result), LLMC_OK);
  EXPECT_EQ(std::vector<int32_t>(result.tokens, result.tokens + result.token_count),
            greedyReference(prompt, 5));
  EXPECT_STREQ(result.finish, "length");
  llmc_token_probability token, top[2];
  EXPECT_EQ(llmc_generator_score(generator, 0, 0, &token, top, &count), LLMC_ERROR_USAGE);
  wanted.logprobs = 2;
  wanted.prompt_logprobs = 1;
  ASSERT_EQ(llmc_generator_run(generator, prompt.data(), prompt.size(), &wanted, &result), LLMC_OK);
  count = 2;
  ASSERT_EQ(llmc_generator_score(generator, 0, 4, &token, top, &count), LLMC_OK);
  EXPECT_EQ(token.id, result.tokens[4]);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(top[0].id, token.id);
  EXPECT_EQ(top[0].logprob, token.logprob);
  EXPECT_EQ(llmc_generator_score(generator, 1, 1, &token, nullptr, &count), LLMC_OK);
  EXPECT_EQ(token.id, prompt[1]);
  EXPECT_EQ(llmc_generator_score(generator, 1, 0, &token, nullptr, &count), LLMC_ERROR_USAGE);
  wanted.logprobs = -2;
  EXPECT_EQ(llmc_generator_run(generator, prompt.data(), prompt.size(), &wanted, &result),
            LLMC_ERROR_USAGE);
  wanted.logprobs = -1;
  wanted.temperature = -1;
  EXPECT_EQ(llmc_generator_run(generator, prompt.data(), prompt.size(), &wanted, &result),
            LLMC_ERROR_USAGE);
  llmc_generator_destroy(generator);
  llmc_session_destroy(session);
  EXPECT_STRNE(llmc_version_string(), "");
}

/// A tokenizer with a token for each letter of the tiny model's vocabulary.
void writeTinyTokenizer(const std::filesystem::path &folder, const std::string &chatTemplate) {
  TokenizerSpec spec;
  for (const char *text :
       {"<s>", "</s>", "<u>", "<a>", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) {
    bool special = text[0] == '<';
    if (special)
      spec.addedTokens.push_back(
          {.id = int32_t(spec.tokens.size()), .content = text, .special = true});
    spec.tokens.push_back({text, special ? TokenType::Control : TokenType::Normal});
  }
  spec.bosId = 0;
  spec.eosId = 1;
  spec.endOfGenerationIds = {1};
  spec.steps.emplace_back().kind = PreTokenizerStep::Kind::ByteLevel;
  spec.chatTemplate = chatTemplate;
  writeFile(folder / "tokenizer.bin", spec.toBytes());
  writeTiny(folder, 1, [&](nlohmann::json &manifest) {
    std::filesystem::path path = folder / "tokenizer.bin";
    manifest["tokenizer"] = {{"file", "tokenizer.bin"}};
    manifest["files"].push_back({{"path", "tokenizer.bin"},
                                 {"bytes", std::filesystem::file_size(path)},
                                 {"sha256", sha256OfFile(path)}});
  });
}

TEST(CInterface, AppliesTheChatTemplate) {
  TemporaryFolder folder;
  writeTinyTokenizer(
      folder.path(),
      "{{ bos_token }}{% for m in messages %}{{ '<u>' if m.role == 'user' else '<a>' }}"
      "{{ m.content }}{{ eos_token }}{% endfor %}"
      "{% if add_generation_prompt %}<a>{% endif %}");
  llmc_artifact *artifact = nullptr;
  ASSERT_EQ(llmc_artifact_open(folder.path().c_str(), 0, &artifact), LLMC_OK)
      << llmc_error_message();
  const char *roles[] = {"user", "assistant", "user"}, *contents[] = {"ab", "c", "d"};
  size_t count = 0;
  ASSERT_EQ(llmc_artifact_apply_chat_template(artifact, roles, contents, 3, 1, nullptr, &count),
            LLMC_OK);
  std::vector<int32_t> want = {0, 2, 4, 5, 1, 3, 6, 1, 2, 7, 1, 3};
  ASSERT_EQ(count, want.size());
  // Where the capacity is too small, only the number is set.
  std::vector<int32_t> ids(count, -1);
  --count;
  EXPECT_EQ(llmc_artifact_apply_chat_template(artifact, roles, contents, 3, 1, ids.data(), &count),
            LLMC_OK);
  EXPECT_EQ(count, want.size());
  EXPECT_EQ(ids.front(), -1);
  EXPECT_EQ(llmc_artifact_apply_chat_template(artifact, roles, contents, 3, 1, ids.data(), &count),
            LLMC_OK);
  EXPECT_EQ(ids, want);
  EXPECT_EQ(llmc_artifact_apply_chat_template(artifact, roles, contents, 3, 0, ids.data(), &count),
            LLMC_OK);
  EXPECT_EQ(count, want.size() - 1);

  contents[1] = nullptr;
  EXPECT_EQ(llmc_artifact_apply_chat_template(artifact, roles, contents, 3, 1, nullptr, &count),
            LLMC_ERROR_USAGE);
  EXPECT_STREQ(llmc_error_message(), "content is NULL");
  EXPECT_EQ(llmc_artifact_apply_chat_template(artifact, nullptr, contents, 3, 1, nullptr, &count),
            LLMC_ERROR_USAGE);
  EXPECT_EQ(llmc_artifact_apply_chat_template(artifact, roles, contents, 1, 1, nullptr, nullptr),
            LLMC_ERROR_USAGE);
  llmc_artifact_close(artifact);

  TemporaryFolder without;
  writeTinyTokenizer(without.path(), "");
  ASSERT_EQ(llmc_artifact_open(without.path().c_str(), 0, &artifact), LLMC_OK);
  EXPECT_EQ(llmc_artifact_apply_chat_template(artifact, roles, contents, 1, 1, nullptr, &count),
            LLMC_ERROR_INPUT);
  EXPECT_THAT(llmc_error_message(), testing::HasSubstr("no chat template"));
  llmc_artifact_close(artifact);
}

TEST(CInterface, TheContextAloneMeansOneSequence) {
  TemporaryFolder folder;
  writeTiny(folder.path());
  llmc_artifact *artifact = nullptr;
  ASSERT_EQ(llmc_artifact_open(folder.path().c_str(), 0, &artifact), LLMC_OK);
  auto blocks = [&](int64_t context, int64_t sequences, int64_t wanted) {
    llmc_session_options options = {};
    options.size = sizeof options;
    options.threads = 1;
    options.max_context = context;
    options.max_sequences = sequences;
    options.blocks = wanted;
    llmc_session *session = nullptr;
    EXPECT_EQ(llmc_session_create(artifact, &options, &session), LLMC_OK) << llmc_error_message();
    llmc_session_info info;
    llmc_session_describe(session, &info);
    EXPECT_EQ(info.max_sequences, sequences ? sequences : 4);
    llmc_session_destroy(session);
    return info.blocks;
  };
  EXPECT_EQ(blocks(0, 0, 0), 32);
  EXPECT_EQ(blocks(0, 1, 0), 32);
  EXPECT_EQ(blocks(10, 0, 0), 3);
  EXPECT_EQ(blocks(10, 1, 0), 3);
  EXPECT_EQ(blocks(10, 3, 0), 9);
  EXPECT_EQ(blocks(10, 3, 5), 5);
  llmc_artifact_close(artifact);
}

TEST(Generator, TheRemedyForAShortContextIsTheRightOne) {
  TemporaryFolder folder;
  auto artifact = openTiny(folder);
  auto messageFor = [&](int64_t context) -> std::string {
    Session session(artifact, {.threads = 1, .maxContext = context});
    try {
      Generator(session).generate(tinyTokens(49));
    } catch (const InputError &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(messageFor(10), testing::HasSubstr("(--context, at most 48 with this artifact)"));
  EXPECT_THAT(messageFor(48), testing::HasSubstr("(llmc-opt --max-context N)"));
}

TEST(Artifact, WhatIsNoneIsToBeCompiledFirst) {
  TemporaryFolder folder;
  auto messageFor = [](const std::filesystem::path &path) -> std::string {
    try {
      Artifact::open(path);
    } catch (const InputError &error) {
      return error.what();
    }
    return "";
  };
  auto file = folder.path() / "model.gguf";
  writeFile(file, "GGUF");
  for (const auto &path : {file, folder.path()})
    EXPECT_THAT(messageFor(path), testing::HasSubstr("compile it first: llmc-opt " + path.string() +
                                                     " --target=cpu -o DIR"));
  writeTiny(folder.path());
  auto ids = Artifact::open(folder.path());
  try {
    ids->tokenizer();
    FAIL();
  } catch (const InputError &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("token ids only (llmc trace, llmc bench)"));
  }
}

} // namespace
} // namespace llmc::rt::test
