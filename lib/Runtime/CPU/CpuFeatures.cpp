//===- CpuFeatures.cpp - what this processor and its system offer ---------===//

#include "CpuDevice.h"

#include <algorithm>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace llmc::rt {

#if defined(__x86_64__)
namespace {
struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx))
    return {};
  return r;
}

uint64_t enabledStates() {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Tile registers need a permission that is asked for once per process.
bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}
} // namespace

std::vector<std::string> cpuFeatures() {
  std::vector<std::string> features = {"sse2"};
  auto add = [&](bool present, const char *name) {
    if (present)
      features.push_back(name);
  };
  auto bit = [](unsigned word, int index) { return (word >> index & 1) != 0; };
  Registers one = cpuid(1, 0), seven = cpuid(7, 0), sevenOne = cpuid(7, 1);
  Registers extended = cpuid(0x80000001, 0);
  uint64_t states = bit(one.ecx, 27) ? enabledStates() : 0;
  bool avx = (states & 0x6) == 0x6 && bit(one.ecx, 28);
  bool avx512 = avx && (states & 0xe0) == 0xe0;
  add(bit(one.ecx, 0), "sse3");
  add(bit(one.ecx, 9), "ssse3");
  add(bit(one.ecx, 19), "sse4.1");
  add(bit(one.ecx, 20), "sse4.2");
  add(bit(one.ecx, 23), "popcnt");
  add(bit(seven.ebx, 3), "bmi");
  add(bit(seven.ebx, 8), "bmi2");
  add(bit(extended.ecx, 5), "lzcnt");
  add(bit(one.ecx, 22), "movbe");
  add(avx, "avx");
  add(avx && bit(one.ecx, 12), "fma");
  add(avx && bit(one.ecx, 29), "f16c");
  add(avx && bit(seven.ebx, 5), "avx2");
  add(avx && bit(sevenOne.eax, 4), "avxvnni");
  add(avx512 && bit(seven.ebx, 16), "avx512f");
  add(avx512 && bit(seven.ebx, 17), "avx512dq");
  add(avx512 && bit(seven.ebx, 28), "avx512cd");
  add(avx512 && bit(seven.ebx, 30), "avx512bw");
  add(avx512 && bit(seven.ebx, 31), "avx512vl");
  add(avx512 && bit(seven.ecx, 1), "avx512vbmi");
  add(avx512 && bit(seven.ecx, 6), "avx512vbmi2");
  add(avx512 && bit(seven.ecx, 11), "avx512vnni");
  add(avx512 && bit(seven.ecx, 12), "avx512bitalg");
  add(avx512 && bit(seven.ecx, 14), "avx512vpopcntdq");
  add(avx512 && bit(seven.edx, 23), "avx512fp16");
  add(avx512 && bit(sevenOne.eax, 5), "avx512bf16");
  bool tileBits = bit(seven.edx, 24) && (states & 0x60000) == 0x60000;
  if (tileBits && mayUseTiles()) {
    features.push_back("amx-tile");
    add(bit(seven.edx, 25), "amx-int8");
    add(bit(seven.edx, 22), "amx-bf16");
  }
  return features;
}
#elif defined(__aarch64__)
std::vector<std::string> cpuFeatures() {
  unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  std::vector<std::string> features = {"neon"};
  if (first & HWCAP_ASIMDHP)
    features.push_back("fullfp16");
  if (first & HWCAP_ASIMDDP)
    features.push_back("dotprod");
  if (first & HWCAP_SVE)
    features.push_back("sve");
  if (second & HWCAP2_I8MM)
    features.push_back("i8mm");
  if (second & HWCAP2_BF16)
    features.push_back("bf16");
  return features;
}
#else
std::vector<std::string> cpuFeatures() { return {}; }
#endif

/// `avx512_vnni`, `avx512-vnni` and `AVX512VNNI` are one feature.
static std::string plain(std::string_view name) {
  std::string text;
  for (char c : name)
    if (c != '-' && c != '_' && c != '.' && c != '+')
      text += char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool cpuHasFeature(std::string_view name) {
  static const std::vector<std::string> features = [] {
    std::vector<std::string> list = cpuFeatures();
    for (std::string &feature : list)
      feature = plain(feature);
    return list;
  }();
  return std::find(features.begin(), features.end(), plain(name)) != features.end();
}

} // namespace llmc::rt
