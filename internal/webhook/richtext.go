package webhook

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// deepest bounds the nesting of a document: what lies deeper is left out.
	deepest = 64
	// longestText bounds the text in bytes: indented lists could make it many
	// times as long as the document.
	longestText = 1 << 20
	// omitted stands for what the bounds left out.
	omitted = "…"
)

// PlainText flattens the rich text of a comment (spec section 6.3): paragraphs
// and other blocks become lines, breaks line ends, list items marked lines;
// mentions keep their names and links their addresses. Of a node that it does
// not know the text inside is taken. A bare string is that text; anything that
// is no document has none.
func PlainText(document []byte) string {
	var root any
	if json.Unmarshal(document, &root) != nil {
		return ""
	}
	f := flattener{start: true}
	f.node(root, 0)
	return strings.TrimRight(f.text.String(), "\n ")
}

// flattener writes a document as lines.
type flattener struct {
	text strings.Builder
	// start says that a line begins, indent what stands before it and mark
	// what the next line has after that, once.
	start        bool
	indent, mark string
	full         bool
}

// node writes a node or a list of nodes.
func (f *flattener) node(n any, depth int) {
	if depth > deepest {
		f.write(omitted)
		return
	}
	switch n := n.(type) {
	case string:
		f.lines(n)
	case []any:
		for _, child := range n {
			f.node(child, depth+1)
		}
	case map[string]any:
		f.typed(n, depth)
	}
}

func (f *flattener) typed(n map[string]any, depth int) {
	kind, _ := n["type"].(string)
	switch kind {
	case "text":
		f.linked(n)
	case "hardBreak", "hard_break":
		f.newline()
	case "mention", "emoji", "inlineCard", "blockCard", "embedCard", "image", "media", "link":
		f.atom(kind, n, depth)
	case "bulletList", "bullet_list", "taskList", "orderedList", "ordered_list":
		f.list(n, strings.HasPrefix(kind, "ordered"), depth)
	case "rule", "horizontalRule", "horizontal_rule":
		f.begin()
		f.write("---")
		f.end()
	default:
		f.block(kind, n, depth)
	}
}

// block writes the children of a node on lines of their own. A node of unknown
// kind that has a text and no children is part of its line.
func (f *flattener) block(kind string, n map[string]any, depth int) {
	if text, ok := n["text"].(string); ok && n["content"] == nil {
		f.lines(text)
		return
	}
	if kind == "" && n["content"] == nil {
		return
	}
	f.begin()
	f.node(n["content"], depth+1)
	f.end()
}

// linked writes a text, and the address of its link where that says more.
func (f *flattener) linked(n map[string]any) {
	text, _ := n["text"].(string)
	f.lines(text)
	marks, _ := n["marks"].([]any)
	for _, m := range marks {
		mark, _ := m.(map[string]any)
		if mark["type"] != "link" {
			continue
		}
		if to := attribute(mark, "href", "url"); to != "" && to != text {
			f.write(" (" + to + ")")
		}
	}
}

// atom writes a node that has no text of its own but says something.
func (f *flattener) atom(kind string, n map[string]any, depth int) {
	switch kind {
	case "mention":
		if name := attribute(n, "label", "text", "name", "id"); name != "" {
			f.write("@" + strings.TrimPrefix(name, "@"))
		}
	case "emoji":
		f.write(attribute(n, "text", "emoji", "shortName", "name"))
	case "image", "media":
		f.write(attribute(n, "alt", "title", "src", "url"))
	default:
		f.node(n["content"], depth+1)
		f.write(attribute(n, "href", "url"))
	}
}

// list writes each item with a mark; its further lines are indented.
func (f *flattener) list(n map[string]any, ordered bool, depth int) {
	items, many := n["content"].([]any)
	if !many {
		items = []any{n["content"]}
	}
	attrs, _ := n["attrs"].(map[string]any)
	first, ok := attrs["start"].(float64)
	if !ok || first < 0 || first > 1e9 {
		first = 1
	}
	f.begin()
	outer := f.indent
	for i, item := range items {
		mark := "- "
		if ordered {
			mark = strconv.Itoa(int(first)+i) + ". "
		}
		f.indent, f.mark = outer+strings.Repeat(" ", len(mark)), outer+mark
		f.node(item, depth+1)
		f.end()
	}
	f.indent, f.mark = outer, ""
}

// begin and end put a block on lines of its own.
func (f *flattener) begin() { f.end() }

func (f *flattener) end() {
	if !f.start {
		f.newline()
	}
}

func (f *flattener) newline() {
	if !f.full {
		f.text.WriteByte('\n')
	}
	f.start = true
}

// lines writes a text that may have line ends of its own.
func (f *flattener) lines(text string) {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			f.newline()
		}
		f.write(line)
	}
}

func (f *flattener) write(text string) {
	if text == "" || f.full {
		return
	}
	if f.start {
		if f.mark == "" {
			f.mark = f.indent
		}
		text, f.mark, f.start = f.mark+text, "", false
	}
	if f.text.Len()+len(text) > longestText {
		f.full = true
		text = cut(text, longestText-f.text.Len()) + omitted
	}
	f.text.WriteString(text)
}

// cut shortens a text to at most so many bytes, between characters.
func cut(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:min(max(n, 0), len(text))]
}

// attribute is the first of a node's attributes that is a text.
func attribute(n map[string]any, names ...string) string {
	attrs, _ := n["attrs"].(map[string]any)
	for _, from := range []map[string]any{attrs, n} {
		for _, name := range names {
			if text, ok := from[name].(string); ok && text != "" {
				return text
			}
		}
	}
	return ""
}
