"""A document of HTML taken apart."""

from html.parser import HTMLParser


class Document(HTMLParser):
    """Tags, texts and cells of tables of a document that loads and runs nothing."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.tables, self.cell = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert name not in ("src", "href") and name[:2] != "on", (tag, name, value)
        self.tags.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell.strip())
            self.cell = None

    def handle_data(self, data):
        self.texts.append(data)
        if self.cell is not None:
            self.cell += data
