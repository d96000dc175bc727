//===- RandomProgram.cpp - legal programs of the llm dialect, drawn -------===//
#include "RandomProgram.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace llmc::test {

namespace {

/// Distributions of the standard library differ from one to the next; this does not.
class Draw {
public:
  explicit Draw(uint64_t seed) : engine(seed) {}
  int64_t below(int64_t count) { return int64_t(engine() % uint64_t(count)); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T> T of(std::initializer_list<T> choices) {
    return choices.begin()[below(int64_t(choices.size()))];
  }

private:
  std::mt19937_64 engine;
};

/// A value and its row: dimensions behind the tokens.
struct Rows {
  std::string name;
  std::vector<int64_t> dims;

  int64_t width() const {
    int64_t all = 1;
    for (int64_t dim : dims)
      all *= dim;
    return all;
  }
  std::string type(const char *extent = "?") const {
    std::string text = "tensor<" + std::string(extent);
    for (int64_t dim : dims)
      text += "x" + std::to_string(dim);
    return text + "xf32>";
  }
};

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17e", value);
  return text;
}

class Program {
public:
  explicit Program(uint64_t seed) : draw(seed) {}
  std::string build();

private:
  //===--------------------------------------------------------------------===//
  // Statements
  //===--------------------------------------------------------------------===//

  void say(const std::string &line) { body += "    " + line + "\n"; }
  std::string fresh() { return "%v" + std::to_string(values++); }

  /// A weight of the layer at hand, or of the model.
  std::pair<std::string, std::string> weight(const std::string &what, std::vector<int64_t> shape) {
    std::string symbol = what + "_" + std::to_string(families++);
    std::string dims;
    for (int64_t dim : shape)
      dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
    std::string type = "!llm.weight<[" + dims + "], #llm.dense<f32>>";
    declared += "  llm.weight_family @" + symbol + " \"" + symbol + (layers.empty() ? "" : ".{i}") +
                "\" " + layers + ": " + type + "\n";
    std::string name = fresh();
    say(name + " = llm.param @" + symbol + (layers.empty() ? "" : "[%i]") + " : " + type);
    return {name, type};
  }

  std::pair<std::string, std::string> state(const std::string &what, const std::string &type) {
    std::string symbol = what + "_" + std::to_string(families++);
    declared += "  llm.state_family @" + symbol + " " + layers + ": " + type + "\n";
    std::string name = fresh();
    say(name + " = llm.state @" + symbol + "[%i] : " + type);
    return {name, type};
  }

  Rows unary(const std::string &op, const Rows &x, const std::string &behind = "") {
    Rows y{fresh(), x.dims};
    say(y.name + " = llm." + op + " " + x.name + behind + " : " + x.type());
    return y;
  }

  Rows linear(const Rows &x, int64_t features, int biasPercent = 20) {
    auto [w, type] = weight("w", {features, x.dims.back()});
    Rows y{fresh(), {features}};
    if (draw.chance(biasPercent)) {
      auto [b, biasType] = weight("b", {features});
      say(y.name + " = llm.linear " + x.name + ", " + w + " bias " + b + " : " + x.type() + ", " +
          type + ", " + biasType + " -> " + y.type());
    } else {
      say(y.name + " = llm.linear " + x.name + ", " + w + " : " + x.type() + ", " + type + " -> " +
          y.type());
    }
    return y;
  }

  Rows rmsNorm(const Rows &x) {
    std::string eps = " eps " + number(draw.of({1e-5, 1e-6, 3e-3}));
    Rows y{fresh(), x.dims};
    if (draw.chance(15)) {
      say(y.name + " = llm.rms_norm " + x.name + eps + " : " + x.type());
      return y;
    }
    auto [w, type] = weight("norm", {x.dims.back()});
    say(y.name + " = llm.rms_norm " + x.name + ", " + w + eps +
        (draw.chance(30) ? " offset 1.0" : "") + " : " + x.type() + ", " + type);
    return y;
  }

  Rows norm(const Rows &x) {
    if (draw.chance(75))
      return rmsNorm(x);
    auto [w, type] = weight("scale", {x.dims.back()});
    auto [b, biasType] = weight("shift", {x.dims.back()});
    Rows y{fresh(), x.dims};
    say(y.name + " = llm.layer_norm " + x.name + ", " + w + " bias " + b + " eps 1.0e-05 : " +
        x.type() + ", " + type + ", " + biasType);
    return y;
  }

  Rows binary(const char *function, const Rows &a, const Rows &b) {
    Rows y{fresh(), a.dims};
    say(y.name + " = llm.binary " + function + " " + a.name + ", " + b.name + " : " + a.type() +
        ", " + b.type() + " -> " + y.type());
    return y;
  }

  Rows splitHeads(const Rows &x, int64_t heads) {
    Rows y{fresh(), {heads, x.width() / heads}};
    say(y.name + " = llm.split_heads " + x.name + " : " + x.type() + " -> " + y.type());
    return y;
  }

  Rows mergeHeads(const Rows &x) {
    Rows y{fresh(), {x.width()}};
    say(y.name + " = llm.merge_heads " + x.name + " : " + x.type() + " -> " + y.type());
    return y;
  }

  Rows slice(const Rows &x, int64_t from, int64_t size) {
    Rows y{fresh(), x.dims};
    y.dims.back() = size;
    say(y.name + " = llm.slice " + x.name + " from " + std::to_string(from) + " size " +
        std::to_string(size) + " : " + x.type() + " -> " + y.type());
    return y;
  }

  /// What is done to single numbers.
  Rows element(const Rows &x) {
    switch (draw.below(5)) {
    case 0:
      return unary("scale", x, " by " + number(draw.of({0.5, 0.22, 1.7})));
    case 1:
      return unary("offset", x, " by " + number(0.125));
    case 2:
      return unary("softcap", x, " cap " + number(draw.of({5.0, 30.0})));
    case 3:
      return unary("clamp", x, " min " + number(-1.5) + " max " + number(2.0));
    default:
      return unary("activation " + std::string(draw.of({"silu", "gelu_tanh", "tanh", "sigmoid"})), x);
    }
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  Rows attention(const Rows &x);
  Rows rotary(const Rows &x, const std::string &rope);
  Rows feedForward(const Rows &x);
  Rows experts(const Rows &x);
  Rows convolution(const Rows &x);
  Rows recurrence(const Rows &x);
  Rows elements(const Rows &x);
  Rows weightRows();
  Rows chosen(Rows x);
  Rows block(Rows stream);

  void layer(const std::string &name, const std::string &indices);

  Draw draw;
  int64_t hidden = 0;
  std::string declared, functions, body, layers;
  int values = 0, families = 0;
};

Rows Program::rotary(const Rows &x, const std::string &rope) {
  Rows y{fresh(), x.dims};
  say(y.name + " = llm.rotary " + x.name + ", %batch rope(" + rope + ") : " + x.type());
  return y;
}

Rows Program::attention(const Rows &x) {
  int64_t kvHeads = draw.of<int64_t>({1, 2, 3}), heads = kvHeads * draw.of<int64_t>({1, 2, 3});
  int64_t width = draw.of<int64_t>({4, 8, 12, 20});
  Rows q = splitHeads(linear(x, heads * width), heads);
  Rows k = splitHeads(linear(x, kvHeads * width), kvHeads);
  Rows v = splitHeads(linear(x, kvHeads * width), kvHeads);
  if (draw.chance(35)) {
    q = rmsNorm(q);
    k = rmsNorm(k);
  }
  if (draw.chance(75)) {
    int64_t turned = draw.chance(70) ? width : width / 2;
    double base = draw.of({100.0, 10000.0});
    std::string frequencies;
    for (int64_t j = 0; j < turned / 2; ++j)
      frequencies += (j ? ", " : "") + number(std::pow(base, -2.0 * double(j) / double(turned)));
    std::string rope = "<\"default\", base = " + number(base) + ", width = " +
                       std::to_string(turned) + ", " + draw.of({"halves", "interleaved"}) +
                       ", magnitude = 1.0, [" + frequencies + "]>";
    q = rotary(q, rope);
    k = rotary(k, rope);
  }
  std::string w = std::to_string(width);
  auto [cache, type] =
      state("kv", "!llm.cache<paged, [" + std::to_string(kvHeads) + ", " + w + ", " + w + "], f32>");
  std::string next = fresh();
  say(next + " = llm.kv_append " + k.name + ", " + v.name + ", " + cache + ", %batch : " + k.type() +
      ", " + v.type() + ", " + type);
  Rows y{fresh(), q.dims};
  std::string options;
  if (draw.chance(40))
    options += " window " + std::to_string(draw.of({1, 3, 7, 16}));
  if (draw.chance(20))
    options += " softcap " + number(20);
  say(y.name + " = llm.paged_attention " + q.name + ", " + next + ", %batch scale " +
      number(1 / std::sqrt(double(width))) + options + " : " + q.type() + ", " + type + " -> " +
      y.type());
  y = mergeHeads(y);
  if (draw.chance(25))
    y = binary("mul", y, unary("activation sigmoid", linear(x, y.width(), 0)));
  return linear(y, hidden);
}

Rows Program::feedForward(const Rows &x) {
  int64_t inner = draw.of<int64_t>({20, 33, 40, 76});
  int bias = draw.chance(30) ? 100 : 0;
  std::string function = draw.of({"silu", "gelu_tanh", "gelu", "relu"});
  Rows gate = linear(x, inner, bias);
  if (draw.chance(65)) {
    Rows up = linear(x, inner, bias), y{fresh(), {inner}};
    say(y.name + " = llm.gate " + function + " " + gate.name + ", " + up.name + " : " + y.type());
    return linear(y, hidden, bias);
  }
  return linear(unary("activation " + function, gate), hidden, bias);
}

Rows Program::experts(const Rows &x) {
  int64_t count = draw.of<int64_t>({3, 5, 8}), top = draw.of<int64_t>({1, 2, 3});
  int64_t inner = draw.of<int64_t>({12, 20, 40});
  Rows logits = linear(x, count, 0);
  std::string choice = fresh(), weights = fresh();
  std::string choiceType = "tensor<?x" + std::to_string(top) + "xi32>";
  Rows by{weights, {top}};
  say(choice + ", " + weights + " = llm.route " + draw.of({"softmax ", "sigmoid "}) + logits.name +
      " top " + std::to_string(top) + (draw.chance(60) ? " normalise sum" : "") + " : (" +
      logits.type() + ") -> (" + choiceType + ", " + by.type() + ")");
  auto product = [&](const Rows &from, int64_t features) {
    auto [w, type] = weight("expert", {count, features, from.dims.back()});
    Rows y{fresh(), {top, features}};
    say(y.name + " = llm.expert_linear " + from.name + ", " + choice + ", " + w + " : (" +
        from.type() + ", " + choiceType + ", " + type + ") -> " + y.type());
    return y;
  };
  Rows gate = product(x, inner), up = product(x, inner), mixed{fresh(), gate.dims};
  say(mixed.name + " = llm.gate silu " + gate.name + ", " + up.name + " : " + mixed.type());
  Rows down = product(mixed, hidden), y{fresh(), {hidden}};
  say(y.name + " = llm.expert_sum " + down.name + " by " + by.name + " : (" + down.type() + ", " +
      by.type() + ") -> " + y.type());
  return draw.chance(30) ? binary("add", y, feedForward(x)) : y;
}

Rows Program::convolution(const Rows &x) {
  int64_t channels = draw.of<int64_t>({16, 24, 40}), taps = draw.of<int64_t>({2, 4});
  Rows input = linear(x, channels, 0);
  auto [w, type] = weight("conv", {channels, 1, taps});
  auto [cache, cacheType] = state("conv", "!llm.cache<conv, [" + std::to_string(channels) + ", " +
                                              std::to_string(taps - 1) + "], f32>");
  Rows y{fresh(), {channels}};
  std::string next = fresh();
  say(y.name + ", " + next + " = llm.causal_conv " + input.name + ", " + w + ", " + cache +
      ", %batch : " + input.type() + ", " + type + ", " + cacheType);
  if (draw.chance(70))
    y = unary("activation silu", y);
  return linear(y, hidden, 0);
}

Rows Program::recurrence(const Rows &x) {
  int64_t keyHeads = draw.of<int64_t>({1, 2}), heads = keyHeads * draw.of<int64_t>({1, 2});
  int64_t key = draw.of<int64_t>({6, 10}), value = draw.of<int64_t>({8, 14});
  auto unit = [&](const Rows &rows) {
    Rows normed{fresh(), rows.dims};
    say(normed.name + " = llm.rms_norm " + rows.name + " eps 1.0e-06 : " + rows.type());
    return unary("scale", normed, " by " + number(1 / std::sqrt(double(key))));
  };
  Rows q = unit(splitHeads(linear(x, keyHeads * key, 0), keyHeads));
  Rows k = unit(splitHeads(linear(x, keyHeads * key, 0), keyHeads));
  Rows v = splitHeads(linear(x, heads * value, 0), heads);
  Rows decay = unary("scale", unary("activation softplus", linear(x, heads, 0)), " by " + number(-1));
  Rows beta = unary("activation sigmoid", linear(x, heads, 0));
  auto [cache, type] =
      state("memory", "!llm.cache<recurrent, [" + std::to_string(heads) + ", " +
                          std::to_string(key) + ", " + std::to_string(value) + "], f32>");
  Rows y{fresh(), v.dims};
  std::string next = fresh();
  say(y.name + ", " + next + " = llm.linear_attention " + q.name + ", " + k.name + ", " + v.name +
      ", " + decay.name + " beta " + beta.name + ", " + cache + ", %batch delta scale " +
      number(1 / std::sqrt(double(key))) + " : " + q.type() + ", " + v.type() + ", " +
      decay.type() + ", " + type + ", " + beta.type());
  if (draw.chance(50))
    y = rmsNorm(y);
  return linear(mergeHeads(y), hidden, 0);
}

Rows Program::elements(const Rows &x) {
  Rows y = element(x);
  if (draw.chance(50))
    y = binary(draw.of({"add", "mul", "sub", "max"}), y, element(x));
  if (draw.chance(40)) {
    int64_t part = hidden / 4;
    Rows a = slice(y, 0, part), b = slice(y, part, hidden - part), joined{fresh(), {hidden}};
    say(joined.name + " = llm.concat " + b.name + ", " + a.name + " : " + b.type() + ", " +
        a.type() + " -> " + joined.type());
    y = joined;
  }
  return draw.chance(40) ? norm(y) : y;
}

Rows Program::weightRows() {
  auto [w, type] = weight("rows", {hidden});
  Rows y{fresh(), {hidden}};
  say(y.name + " = llm.weight_rows " + w + ", %batch : " + type + " -> " + y.type());
  return y;
}

/// The rows whose logits are wanted, with rows of weights before and behind the choice.
Rows Program::chosen(Rows x) {
  auto select = [&](const Rows &rows) {
    return unary("select_rows", rows, ", %batch");
  };
  if (draw.chance(35)) {
    Rows w = weightRows();
    x = binary(draw.of({"mul", "add"}), x, draw.chance(50) ? element(w) : w);
  }
  x = select(x);
  if (draw.chance(25)) {
    Rows w = weightRows();
    x = binary(draw.of({"mul", "sub"}), x, select(draw.chance(50) ? element(w) : w));
  }
  return draw.chance(25) ? binary("add", x, weightRows()) : x;
}

Rows Program::block(Rows stream) {
  // Before it, behind it, or both.
  bool before = draw.chance(85), behind = !before || draw.chance(25);
  Rows x = before ? norm(stream) : stream;
  Rows y = x;
  int64_t kind = draw.below(100);
  if (kind < 40)
    y = attention(x);
  else if (kind < 65)
    y = feedForward(x);
  else if (kind < 77)
    y = experts(x);
  else if (kind < 84)
    y = convolution(x);
  else if (kind < 92)
    y = recurrence(x);
  else
    y = elements(x);
  if (behind)
    y = norm(y);
  if (draw.chance(20))
    y = unary("scale", y, " by " + number(draw.of({0.22, 0.7})));
  Rows sum{fresh(), stream.dims};
  say(sum.name + " = llm.residual_add " + stream.name + ", " + y.name + " : " + stream.type());
  return sum;
}

void Program::layer(const std::string &name, const std::string &indices) {
  layers = "layers [" + indices + "] ";
  body.clear();
  Rows stream{"%x", {hidden}};
  int64_t blocks = 1 + draw.below(3);
  for (int64_t i = 0; i < blocks; ++i)
    stream = block(stream);
  say("llm.observe " + stream.name + " \"hidden.{i+1}\"[%i] : " + stream.type());
  say("return " + stream.name + " : " + stream.type());
  functions += "  func.func private @" + name + "(%i: index, %x: " + stream.type() +
               ", %batch: !llm.batch) -> " + stream.type() + " {\n" + body + "  }\n";
}

std::string Program::build() {
  hidden = draw.of<int64_t>({16, 20, 24, 36, 48, 50});
  int64_t vocabulary = draw.of<int64_t>({17, 33, 64, 131});
  Rows stream{"", {hidden}};
  std::string repeats, last = "%e";
  int64_t next = 0, runs = 1 + draw.below(3);
  for (int64_t run = 0; run < runs; ++run) {
    int64_t count = 1 + draw.below(3), kinds = draw.chance(30) ? 2 : 1;
    std::string callees;
    for (int64_t kind = 0; kind < kinds; ++kind) {
      std::string name = "layer_" + std::to_string(run) + "_" + std::to_string(kind), indices;
      for (int64_t i = 0; i < count; ++i) {
        // Ranges that touch are one.
        int64_t index = next + i * kinds + kind;
        if (kinds > 1 || i == 0)
          indices += (indices.empty() ? "" : ", ") + std::to_string(index) + ", ";
        if (kinds > 1 || i + 1 == count)
          indices += std::to_string(index + 1);
      }
      layer(name, indices);
      callees += (callees.empty() ? "@" : ", @") + name;
    }
    std::string result = "%r" + std::to_string(run);
    repeats += "    " + result + " = llm.repeat [" + callees + "] from " + std::to_string(next) +
               " count " + std::to_string(count) + " (" + last + ") with (%batch) : (" +
               stream.type() + ") with (!llm.batch)\n";
    next += count * kinds;
    last = result;
  }
  layers.clear();
  body.clear();
  auto [table, tableType] = weight("table", {vocabulary, hidden});
  Rows embedded{fresh(), {hidden}};
  say(embedded.name + " = llm.embedding %tokens, " + table + " : tensor<?xi32>, " + tableType +
      " -> " + embedded.type());
  if (draw.chance(30))
    embedded = unary("scale", embedded, " by " + number(std::sqrt(double(hidden))));
  say("llm.observe " + embedded.name + " \"hidden.0\" : " + embedded.type());
  for (size_t at; (at = repeats.find("%e)")) != std::string::npos;)
    repeats.replace(at, 2, embedded.name);
  body += repeats;
  Rows normed = norm({last, {hidden}});
  say("llm.observe " + normed.name + " \"final_norm\" : " + normed.type());
  Rows selected = chosen(normed);
  std::string head = table, headType = tableType;
  if (draw.chance(50))
    std::tie(head, headType) = weight("head", {vocabulary, hidden});
  Rows logits{fresh(), {vocabulary}};
  say(logits.name + " = llm.output_head " + selected.name + ", " + head + " : " + selected.type() +
      ", " + headType + " -> " + logits.type());
  if (draw.chance(25))
    logits = unary("softcap", logits, " cap " + number(30));
  say("llm.observe " + logits.name + " \"logits\" : " + logits.type());
  say("return " + logits.name + " : " + logits.type());
  return "module attributes {llm.model = {architecture = \"random\", context_length = 256 : i64, "
         "hidden_size = " + std::to_string(hidden) + " : i64, layers = " + std::to_string(next) +
         " : i64, vocab_size = " + std::to_string(vocabulary) + " : i64}} {\n" + declared +
         "  func.func @forward(%tokens: tensor<?xi32>, %batch: !llm.batch) -> " + logits.type() +
         " attributes {llm.entry} {\n" + body + "  }\n" + functions + "}\n";
}

} // namespace

std::string randomProgram(uint64_t seed) { return Program(seed).build(); }

} // namespace llmc::test
