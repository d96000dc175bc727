//===- PictureStyle.h - how the page of a compilation looks -----*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_PICTURESTYLE_H
#define LLMC_LIB_PIPELINES_PICTURESTYLE_H

#include "llvm/ADT/StringRef.h"

namespace llmc {

/// Twelve classes c0 to c11 are colours; w, s and r are weights, state and rows.
inline constexpr llvm::StringLiteral pictureStyle = R"css(
:root{--bg:#fff;--fg:#1c2430;--soft:#5b6675;--line:#d8dee6;--card:#f5f7fa;--fuse:#e6f0ff;
--fuseline:#7fa8e8;--miss:#9a5b00;--w:#4c78a8;--s:#e08a2e;--r:#4f9d69}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e3e8ef;--soft:#9aa5b4;--line:#323b47;
--card:#1b212a;--fuse:#1a2a44;--fuseline:#4a74b8;--miss:#e0a458;--w:#6b9bd1;--s:#eaa356;--r:#6dbd89}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem 1.25rem 4rem;max-width:76rem;background:var(--bg);color:var(--fg);
font:15px/1.45 system-ui,sans-serif;overflow-wrap:break-word}
code,.path,header p{overflow-wrap:anywhere}
h1{margin:.2rem 0;font-size:1.6rem}h2{margin:2rem 0 .6rem;font-size:1.25rem;
border-bottom:1px solid var(--line)}h3{margin:1.2rem 0 .4rem;font-size:1rem}
header p{margin:.3rem 0;color:var(--soft)}header b{color:var(--fg);font-weight:600}
nav a{margin-right:1rem;color:var(--w)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;min-width:100%;font-size:.87rem}
th{text-align:left;font-weight:600;color:var(--soft);white-space:nowrap}
td:first-child{white-space:nowrap}
th,td{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.bar{min-width:9rem;width:26%;vertical-align:middle}
.stack{display:flex;height:.8rem;min-width:2px}.stack i{display:block;height:100%}
i.w{background:var(--w)}i.s{background:var(--s)}i.r{background:var(--r)}
.legend{color:var(--soft);font-size:.87rem}
.legend i{display:inline-block;width:.8rem;height:.8rem;margin-left:.8rem}
.cards{display:flex;flex-wrap:wrap;gap:.7rem}
.card{flex:1 1 11rem;padding:.6rem .8rem;border:1px solid var(--line);border-radius:.5rem;
background:var(--card);display:flex;flex-direction:column}
.card span,.card small,small{color:var(--soft)}.card b{font-size:1.4rem}
code{font:.86em ui-monospace,monospace}
.path{color:var(--soft);font-size:.87rem}
.tag{display:inline-block;padding:0 .4rem;margin:.1rem 0;border:1px solid var(--line);
border-radius:.6rem;font-size:.8rem}
tr.quiet td{color:var(--soft)}tr.missed td:first-child{color:var(--miss)}
summary{cursor:pointer}
details.kind{margin:.6rem 0;padding:.4rem .7rem;border:1px solid var(--line);border-radius:.5rem}
details.kind>summary{padding:.1rem 0}
details.kind>details{margin:.3rem 0}
.fusion{margin:.25rem 0;padding:.2rem .6rem;background:var(--fuse);
border-left:3px solid var(--fuseline);border-radius:.2rem}
.op{margin:.12rem 0;padding:.05rem .6rem;border-left:3px solid var(--line)}
.remark{margin:.2rem .6rem;color:var(--soft);font-size:.87rem}
.strip{display:flex;flex-wrap:wrap;gap:2px;margin:.5rem 0}
.strip a,summary i{display:inline-block;min-width:1.5rem;height:1.5rem;padding:0 .2rem;
line-height:1.5rem;text-align:center;font-size:.75rem;font-style:normal;color:#10151b;
text-decoration:none;border-radius:.2rem}
figure{margin:1rem 0}figcaption{color:var(--soft);font-size:.87rem;margin-bottom:.3rem}
.map{position:relative;height:22rem;background:var(--card);border:1px solid var(--line);overflow:hidden}
.map b{position:absolute;overflow:hidden;min-height:1px;min-width:1px;padding:0 .2rem;color:#10151b;
font:.72rem/1.1rem system-ui,sans-serif;border:1px solid var(--bg);white-space:nowrap}
.map b:hover{border-color:var(--fg)}
.c0{background:#a9c6e8}.c1{background:#f5bd7a}
.c2{background:#9fd3a8}.c3{background:#f0a3a1}
.c4{background:#c9b3e0}.c5{background:#d9b99f}
.c6{background:#f2b9d6}.c7{background:#c4ccd6}
.c8{background:#d8d98a}.c9{background:#93d3dd}
.c10{background:#b7e0c9}.c11{background:#e3c7f0}
)css";

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PICTURESTYLE_H
