//===- PieceTable.h - finds pieces by their text ----------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_PIECETABLE_H
#define LLMC_LIB_RUNTIME_TOKENIZER_PIECETABLE_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// A hash table from text to id that views the texts. Built once in one go: a vocabulary of
/// 262144 pieces takes a few milliseconds.
class PieceTable {
public:
  /// Room for \p count texts; more may not be added.
  explicit PieceTable(size_t count = 0);
  /// False, with nothing changed, where the text is there already.
  bool add(std::string_view text, int32_t id);
  /// The id, or -1.
  int32_t find(std::string_view text) const;
  bool empty() const { return longest == 0; }
  /// Bytes of the longest text.
  size_t longestText() const { return longest; }

private:
  struct Entry {
    const char *text;
    uint32_t size;
    int32_t id;
  };
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = 0; ///< one more than its place in entries; 0: free
  };
  size_t slotOf(std::string_view text, uint32_t hash) const;

  std::vector<Entry> entries;
  std::vector<Slot> slots; ///< open addressing, a power of two
  size_t longest = 0;
};

/// A trie over bytes, for all prefixes of a text that are pieces.
class ByteTrie {
public:
  ByteTrie();
  /// The first value of a text counts. An empty text is ignored.
  void add(std::string_view text, int32_t value);
  bool empty() const { return values.size() == 1; }

  static constexpr uint32_t root = 0;
  /// The node behind \p byte; root where there is none.
  uint32_t next(uint32_t node, uint8_t byte) const;
  /// The value of a node, or -1.
  int32_t value(uint32_t node) const { return values[node]; }

  /// Bytes of the longest piece at the front of \p text; 0: none. Its value is in \p value.
  size_t longestPrefix(std::string_view text, int32_t *value = nullptr) const;

private:
  void grow();
  size_t slotOf(uint64_t key) const;

  std::vector<uint64_t> keys;    ///< node, byte; 0: free. Open addressing, a power of two.
  std::vector<uint32_t> targets; ///< beside keys
  std::vector<int32_t> values;   ///< one a node
};

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_PIECETABLE_H
