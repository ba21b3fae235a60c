// The SQL editor of the workbench: the modules of CodeMirror that it uses, and their set-up. To
// build ../assets/editor.min.js, run in this folder:
//
//   npm install --no-save && npm run build
//
// Package-lock.json pins the versions, so that the bytes are always the same.

import { autocompletion, closeBrackets, closeBracketsKeymap, completeFromList, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, SQLDialect, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// CodeMirror has no dialect of DuckDB. This one has the literals and types of PostgreSQL, whose
// list of keywords also contains names of columns, such as name and day.
const duckdb = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `all analyze and anti any array as asc asof between by case collate cross current default desc describe
    distinct else end except exclude exists explain filter first following for from full group grouping having in inner intersect
    interval into is isnull join lambda last lateral left like ilike limit materialized natural not notnull null nulls offset on or
    order outer over partition pivot positional preceding qualify recursive replace right rollup rows select
    semi show similar some struct summarize table then to try_cast unbounded union unnest unpivot using values when where
    window with within cast glob`.split(/\s+/).join(" "),
});

// The colors are variables of the style sheet, so that the editor follows the theme.
const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--card)", border: "1px solid var(--edge)", borderRadius: "5px", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--link)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace', lineHeight: "1.5", maxHeight: "60vh", minHeight: "9rem" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--fill)" },
  ".cm-gutters": { color: "var(--quiet)", backgroundColor: "transparent", borderRight: "1px solid var(--faint)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--fill)" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--card)", border: "1px solid var(--edge)", borderRadius: "5px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--card)", background: "var(--link)" },
  ".cm-tooltip.cm-completionInfo": { maxWidth: "22rem" },
  ".cm-completionDetail": { color: "inherit", opacity: ".7" },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--c0)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--c2)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--c3)" },
  { tag: tags.typeName, color: "var(--c4)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
]);

// namespaceOf returns the tables of completion.json in the form of lang-sql.
const namespaceOf = (schemas) => Object.fromEntries(Object.entries(schemas).map(([schema, tables]) => [schema, {
  self: { label: schema, type: "namespace" },
  children: Object.fromEntries(tables.map((table) => [table.name, {
    self: { label: table.name, type: "class", info: table.about },
    children: table.columns.map((c) => ({ label: c.name, type: "property", detail: c.type, info: c.about })),
  }])),
}]));

// open replaces a text area by an editor, which copies each change to the text area. words is
// completion.json, nonce the nonce of the page's policy for the styles of the editor. run is
// called for Ctrl+Enter or Cmd+Enter. Tab moves the focus, as in any form.
export const open = (area, { words, nonce, run }) => {
  const language = sql({ dialect: duckdb, schema: namespaceOf(words.schemas), defaultSchema: "main", upperCaseKeywords: true });
  const macros = completeFromList(words.macros.map((m) => ({ label: m.name, type: "function", detail: `(${m.arguments.join(", ")})`, info: m.about, apply: `${m.name}(` })));
  const view = new EditorView({
    doc: area.value,
    extensions: [
      lineNumbers(), placeholder(area.placeholder), history(), drawSelection(), bracketMatching(), closeBrackets(), autocompletion(), highlightActiveLine(), EditorView.lineWrapping,
      language, duckdb.language.data.of({ autocomplete: macros }), syntaxHighlighting(colors), theme, EditorState.tabSize.of(2), EditorView.cspNonce.of(nonce),
      keymap.of([{ key: "Mod-Enter", run: () => { run(); return true; } }, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
      EditorView.contentAttributes.of({ "aria-label": area.getAttribute("aria-label") }),
      EditorView.updateListener.of((update) => { if (update.docChanged) area.value = update.state.doc.toString(); }),
    ],
  });
  area.hidden = true;
  area.after(view.dom);
  return {
    focus: () => view.focus(),
    setText: (text) => { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }); view.focus(); },
    // select moves the cursor to a line and a column, both from 1.
    select: (line, column) => {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: Math.min(at.from + Math.max(column, 1) - 1, at.to) }, scrollIntoView: true });
      view.focus();
    },
  };
};
