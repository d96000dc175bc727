//===- LinearEmitter.h - the parts of a product kernel ----------*- C++ -*-===//
//
// One LinearEmitter writes the body of one kernel of one variant:
//
//   Linear.cpp         items, the choice of a path
//   LinearEnds.cpp     what is done to rows before and to sums behind a product
//   LinearSkinny.cpp   one to four tokens, straight from the packed stream
//   LinearWide.cpp     more tokens: two panels to scratch, then register tiles
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_KERNELS_CPU_LINEAREMITTER_H
#define LLMC_LIB_KERNELS_CPU_LINEAREMITTER_H

#include "llmc/Kernels/CPU/LinearKernels.h"

namespace llmc::kernels {

/// The weights of one panel for one group of k, decoded in ascending order.
class PanelRecord {
public:
  /// `header`: of the panel, for the block that the group belongs to.
  PanelRecord(KernelBuilder &k, Storage storage, mlir::Value header, mlir::Value address);
  /// The weight values for k = `index` of the group: 16 x f32. Indices ascend from 0.
  mlir::Value weights(int64_t index);

private:
  using Value = mlir::Value;
  /// Scale and minimum of a sub-group.
  void loadScales(int64_t subGroup);
  /// Bytes of the record as i32.
  Value smallInts(int64_t offset, bool isSigned);
  Value loadWord(int64_t index);
  /// The last two quants of the formats that do not divide a word.
  Value topmost();
  /// The quant at bit `shift` of the current word as a float.
  Value quant(int64_t shift);
  Value fromTable(Value index);
  Value fromBytes(int64_t shift);

  enum class Way : uint8_t { Mantissa, Table, Convert };

  KernelBuilder &k;
  Storage storage;
  StorageInfo info;
  Way way = Way::Convert;
  Value header, address, scale, minimum, word, chosen;
  /// The word that `word` is; -2: none yet.
  int64_t current = -2;
};

/// Where the panels of an item begin.
struct PanelStream {
  mlir::Value headers, records;
};

/// Groups that one iteration over k takes: 32 values of a quantised format, 8 of others.
int64_t groupsPerStep(Storage storage);
/// Most tokens of the skinny path.
inline constexpr int64_t skinnyTokens = 4;

class LinearEmitter {
public:
  LinearEmitter(KernelBuilder &k, const LinearSpec &spec);
  virtual ~LinearEmitter() = default;
  void run();

  /// Tokens of the widest register tile of any variant.
  static constexpr int64_t mostTileTokens = 12;
  /// Bytes of the tile buffer at the start of the scratch, for mostTileTokens rows.
  static int64_t bufferBytes(const LinearSpec &spec);
  /// Panels that the wide path takes together.
  static int64_t widePanels(const LinearSpec &spec) { return spec.tile == 1 ? 1 : 2; }
  /// Bytes of the panels that the wide path, or of the two groups that the skinny one
  /// decodes to scratch.
  static int64_t decodedBytes(const LinearSpec &spec);
  /// Bytes of the rows that a prologue makes, behind those.
  static int64_t preparedBytes(const LinearSpec &spec);

protected:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  /// For a kernel with operands of its own, which sets them.
  struct WithoutOperands {};
  LinearEmitter(KernelBuilder &k, const LinearSpec &spec, WithoutOperands);

  /// The address of `count` rows of x from row `first` on, at the spec's distance.
  virtual Value inputRows(Value first, Value count);
  /// Elements from one of those rows to the next.
  int64_t inputDistance() const { return spec.prologue ? spec.cols : spec.inputDistance(); }
  /// Takes the epilogue's operands from number `next` on.
  void takeEpilogueOperands(unsigned &next);
  /// Where the row that was computed as number `row` belongs.
  virtual Value outputRow(Value row) { return row; }

  /// Any number of rows.
  void compute(Value weights, Value item, Value first, Value tokens);
  /// Exactly `tokens` rows, decoding as it goes.
  void skinny(int64_t tokens, Value weights, Value item, Value first);

private:
  /// All items, with rows as they are.
  void runPlain(Value rows);
  /// All items, block by block of rows, which the prologue makes first.
  void runPrepared(Value rows);
  void prepare(Value first, Value count);
  /// One item for `tokens` rows from row `first`.
  void item(Value item, Value first, Value tokens);
  /// `panels` panels of a stream; the sums of panel p of token t are value t * panels + p.
  Values skinnyPanels(int64_t tokens, int64_t panels, PanelStream stream, Value x);
  /// The same over the scratch, for few registers.
  Values skinnyOverMemory(int64_t tokens, int64_t panels, PanelStream stream, Value x);
  /// sums += weights(p) * x[i] for all panels and tokens.
  void addProducts(Values &sums, int64_t panels, Value input, int64_t i,
                   llvm::function_ref<Value(int64_t)> weights);
  /// Fetches what comes some time after the record at `record` + `offset`.
  void prefetchRecord(Value record, int64_t offset, int64_t panels);
  /// Any number of rows.
  void wide(Value weights, Value item, Value first, Value tokens);
  /// Writes the values of widePanels panels as [k][16 * panels] f32 to scratch.
  void decode(PanelStream stream);
  /// The stream of the panels from `panel` on of the item at `item`.
  PanelStream streamOf(Value item, Value panel);
  /// Headers and records of group `group` of a stream.
  PanelStream groupOf(PanelStream stream, Value group);
  /// Runs `step` over the groups of a stream in ascending order of k: `groups` of them
  /// whose records begin at `records`, the first of which is group `group`. `carried` goes
  /// from one to the next.
  Values overGroups(PanelStream stream, mlir::ValueRange carried,
                    llvm::function_ref<Values(PanelStream at, Value group, int64_t groups,
                                              mlir::ValueRange carried)>
                        step);
  /// One register tile of all the panels that the wide path takes.
  void tile(int64_t tokens, Value weights, Value x);
  /// The end of a product: `tokens` rows of `panels` panels from the tile buffer.
  void finish(Value tokens, int64_t panels, Value firstRow, Value firstPanel);

  int64_t tileTokens() const;

protected:
  KernelBuilder &k;
  const LinearSpec &spec;
  StorageInfo info;
  int64_t panels; ///< Panels that hold features.
  Value x, weights, bias, residual, out, buffer, decoded;

private:
  /// What is done to the sums but for bias and residual.
  RowProgram end;
  /// Operands of prologue and epilogue behind their first ones.
  llvm::SmallVector<Value> prologueOperands, epilogueOperands;
  /// Rows of the prologue, the first of which is row `preparedFirst`.
  Value prepared, preparedFirst;
};

/// What is wrong with the prologue and the epilogue of a spec; empty when nothing is.
std::string checkLinearEnds(const LinearSpec &spec);
/// What is done to the sums but for bias and residual.
RowProgram linearEnd(const LinearSpec &spec);

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_LINEAREMITTER_H
