"""Reads a page of --emit=html and graphs of --emit=dot: are they well-formed and complete?"""

import html.parser
import os
import re
import shutil
import subprocess
import sys

VOID = {"meta", "br"}
OPTIONAL = {"tr", "td", "th"}
KNOWN = VOID | OPTIONAL | {
    "html", "head", "body", "title", "style", "header", "nav", "section", "h1", "h2", "h3", "p", "a",
    "b", "i", "small", "span", "div", "code", "table", "details", "summary", "figure", "figcaption"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text, self.ids, self.links = [], [], set(), set()

    def handle_starttag(self, tag, attributes):
        assert tag in KNOWN, tag
        for name, value in attributes:
            assert name not in ("src", "srcset", "action") and not name.startswith("on"), (tag, name)
            if name == "href":
                assert value.startswith("#"), value
                self.links.add(value[1:])
            if name == "id":
                self.ids.add(value)
            if name == "title":
                self.text.append(value)
        if tag not in VOID | OPTIONAL:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in OPTIONAL:
            assert self.open and self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.text.append(data)


def check_page(path, plan):
    page, source = Page(), open(path, encoding="utf-8").read()
    page.feed(source)
    page.close()
    assert not page.open, page.open
    assert page.links <= page.ids, page.links - page.ids
    style = re.search(r"<style>(.*?)</style>", source, re.S).group(1)
    assert "url(" not in style and "@import" not in style and "://" not in source
    text = "\n".join(page.text)
    launches = re.findall(r"plan\.launch @(\S+)", open(plan).read())
    slices = re.findall(r"plan\.slice @(\S+)", open(plan).read())
    for name in launches + slices:
        assert name in text, name
    print(f"{os.path.basename(path)}: {len(launches)} launches, {len(slices)} slices, nothing from outside")


TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|->|[A-Za-z_0-9]+|[{}\[\];,=])', re.S)


def check_dot(path):
    source, at, tokens = open(path, encoding="utf-8").read().strip(), 0, []
    while at < len(source):
        found = TOKEN.match(source, at)
        assert found, source[at:at + 80]
        tokens.append(found.group(1))
        at = found.end()
    depth, nodes, ends, fusions = 0, set(), set(), 0
    for i, token in enumerate(tokens):
        depth += (token in "{[") - (token in "}]")
        assert depth >= 0
        if re.fullmatch(r"k\d+_\d+(_\d+)?", token):
            if tokens[i + 1] == "[" and tokens[i - 1] != "->":
                nodes.add(token)
            else:
                ends.add(token)
        fusions += bool(re.fullmatch(r"cluster_k\d+_\d+", token))
    assert depth == 0 and ends <= nodes, ends - nodes
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", path, "-o", os.devnull], check=True)
    print(f"{os.path.basename(path)}: {len(nodes)} nodes, {fusions} fusions")


check_page(*sys.argv[1:3])
for graph in sys.argv[3:]:
    check_dot(graph)
