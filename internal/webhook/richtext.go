package webhook

import (
	"encoding/json"
	"strconv"
	"strings"
)

const (
	// maxDepth limits the nesting of a document. Deeper nodes are omitted.
	maxDepth = 64
	// maxText limits the text in bytes, because indented lists can make the text many times as
	// long as the document.
	maxText = 1 << 20
	omitted = "…" // instead of text beyond a limit
)

// PlainText converts the rich text of a comment (spec 6.3) to lines. Mentions keep their names, and links
// keep their addresses. An unknown node is replaced by its text. The text of a JSON string is the string.
// Numbers, booleans, null and invalid JSON have an empty text.
func PlainText(document []byte) string {
	var root any
	if json.Unmarshal(document, &root) != nil {
		return ""
	}
	f := flattener{atLineStart: true}
	f.writeNode(root, 0)
	return strings.TrimRight(f.text.String(), "\n ")
}

type flattener struct {
	text strings.Builder
	// atLineStart is set before the first text of a line. Each line begins with indent, or with
	// bullet if bullet is not empty.
	atLineStart    bool
	indent, bullet string
	full           bool // maxText is reached
}

func (f *flattener) writeNode(n any, depth int) {
	if depth > maxDepth {
		f.write(omitted)
		return
	}
	switch n := n.(type) {
	case string:
		f.writeLines(n)
	case []any:
		for _, child := range n {
			f.writeNode(child, depth+1)
		}
	case map[string]any:
		f.writeObject(n, depth)
	}
}

func (f *flattener) writeObject(n map[string]any, depth int) {
	kind, _ := n["type"].(string)
	text, hasText := n["text"].(string)
	switch kind {
	case "text":
		f.writeLines(text)
		marks, _ := n["marks"].([]any)
		for _, m := range marks {
			mark, _ := m.(map[string]any)
			if address := textAttribute(mark, "href", "url"); mark["type"] == "link" && address != "" && address != text {
				f.write(" (" + address + ")")
			}
		}
	case "hardBreak", "hard_break":
		f.breakLine()
	case "mention":
		if name := textAttribute(n, "label", "text", "name", "id"); name != "" {
			f.write("@" + strings.TrimPrefix(name, "@"))
		}
	case "emoji":
		f.write(textAttribute(n, "text", "emoji", "shortName", "name"))
	case "image", "media":
		f.write(textAttribute(n, "alt", "title", "src", "url"))
	case "inlineCard", "blockCard", "embedCard", "link":
		f.writeNode(n["content"], depth+1)
		f.write(textAttribute(n, "href", "url"))
	case "bulletList", "bullet_list", "taskList", "orderedList", "ordered_list":
		f.writeList(n, strings.HasPrefix(kind, "ordered"), depth)
	case "rule", "horizontalRule", "horizontal_rule":
		f.endLine()
		f.write("---")
		f.endLine()
	default:
		switch {
		case hasText && n["content"] == nil: // an unknown inline node
			f.writeLines(text)
		case kind != "" || n["content"] != nil:
			f.endLine()
			f.writeNode(n["content"], depth+1)
			f.endLine()
		}
	}
}

func (f *flattener) writeList(n map[string]any, ordered bool, depth int) {
	items, isList := n["content"].([]any)
	if !isList {
		items = []any{n["content"]}
	}
	attrs, _ := n["attrs"].(map[string]any)
	first, ok := attrs["start"].(float64)
	if !ok || first < 0 || first > 1e9 {
		first = 1
	}
	f.endLine()
	outer := f.indent
	for i, item := range items {
		bullet := "- "
		if ordered {
			bullet = strconv.Itoa(int(first)+i) + ". "
		}
		f.indent, f.bullet = outer+strings.Repeat(" ", len(bullet)), outer+bullet
		f.writeNode(item, depth+1)
		f.endLine()
	}
	f.indent, f.bullet = outer, ""
}

func (f *flattener) endLine() {
	if !f.atLineStart {
		f.breakLine()
	}
}

func (f *flattener) breakLine() {
	if !f.full {
		f.text.WriteByte('\n')
	}
	f.atLineStart = true
}

func (f *flattener) writeLines(text string) {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			f.breakLine()
		}
		f.write(line)
	}
}

func (f *flattener) write(text string) {
	if text == "" || f.full {
		return
	}
	if f.atLineStart {
		if f.bullet == "" {
			f.bullet = f.indent
		}
		text, f.bullet, f.atLineStart = f.bullet+text, "", false
	}
	if f.text.Len()+len(text) > maxText {
		f.full = true
		text = strings.ToValidUTF8(text[:max(0, maxText-f.text.Len())], "") + omitted // without half a character
	}
	f.text.WriteString(text)
}

// textAttribute returns the first of the named attributes of a node that is a string and not empty.
// If there is none, it looks for these names among the members of the node itself.
func textAttribute(n map[string]any, names ...string) string {
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
