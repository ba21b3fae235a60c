package houserules_test

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	// mostOneWord is the share of functions, in percent, whose name may be one word.
	mostOneWord = 35
	// mostMethods is how many methods a receiver may have: one subject has no more.
	mostMethods = 30
)

// privateWords mean something only to the one who wrote them: no function has such a
// name and nothing else.
func privateWords() []string {
	return []string{"tell", "told", "note", "take", "keep", "give", "let", "left", "beside", "home", "room", "shown", "say", "see"}
}

// names bounds the share of one-word function names and refuses private words.
func names(t tree) []finding {
	var found []finding
	all, short := 0, 0
	for s := range t.code() {
		for f := range functionLengths(s) {
			all++
			if isOneWord(f.Name.Name) {
				short++
			}
			if slices.Contains(privateWords(), strings.ToLower(f.Name.Name)) {
				found = append(found, s.find(f.Pos(), "name it by a verb with its object",
					"the function name %s says nothing to others", f.Name.Name))
			}
		}
	}
	if all > 0 && 100*short > mostOneWord*all {
		found = append(found, finding{"go.mod", 1, fmt.Sprintf("%d of %d functions have names of one word, over %d %%", short, all, mostOneWord),
			"name functions by a verb with its object"})
	}
	return found
}

// isOneWord reports whether a name in mixed caps is a single word.
func isOneWord(name string) bool {
	letters := []rune(name)
	for i := 1; i < len(letters); i++ {
		begins := unicode.IsUpper(letters[i]) &&
			(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins || letters[i] == '_' {
			return false
		}
	}
	return true
}

// receivers bounds the methods of one type.
func receivers(t tree) []finding {
	methods := map[string]int{}
	first := map[string]finding{}
	for s := range t.code() {
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			name := s.dir() + "." + receiverName(f)
			if methods[name]++; methods[name] == 1 {
				first[name] = s.find(f.Pos(), "make the subjects in it types of their own", "")
			}
		}
	}
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if n := methods[name]; n > mostMethods {
			one := first[name]
			one.what = fmt.Sprintf("%s has %d methods, over %d", name, n, mostMethods)
			found = append(found, one)
		}
	}
	return found
}

// receiverName is the name of the type that a method belongs to.
func receiverName(f *ast.FuncDecl) string {
	for node := range ast.Preorder(f.Recv.List[0].Type) {
		if id, ok := node.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

func TestNamesAreHeld(t *testing.T) {
	mustCatch(t, names, []breach{
		{"a private word", map[string]string{"a/a.go": "package a\nfunc (x X) tell() {}\nfunc readPage() {}\nfunc writePage() {}"},
			[]string{"a/a.go:2: the function name tell says nothing to others"}},
		{"most names of one word", map[string]string{"a/a.go": "package a\nfunc read() {}\nfunc writePage() {}"},
			[]string{"go.mod:1: 1 of 2 functions have names of one word, over 35 %"}},
		{"a third of one word", map[string]string{"a/a.go": "package a\nfunc read() {}\nfunc writePage() {}\nfunc readID() {}"}, nil},
		{"in a test", map[string]string{"a/a_test.go": "package a\nfunc tell() {}"}, nil},
	})
	for name, want := range map[string]bool{"read": true, "Read": true, "URL": true, "readAll": false, "HTTPServer": false, "readID": false} {
		if isOneWord(name) != want {
			t.Errorf("isOneWord(%q) = %v, want %v", name, !want, want)
		}
	}
}

func TestReceiversAreHeld(t *testing.T) {
	methods := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "func (x *X[T]) m%d() {}\n", i)
		}
		return b.String()
	}
	mustCatch(t, receivers, []breach{
		{"two files of one receiver", map[string]string{"a/a.go": "package a\n" + methods(20), "a/b.go": "package a\n" + methods(11)},
			[]string{"a/a.go:2: a.X has 31 methods, over 30"}},
		{"as many as allowed", map[string]string{"a/a.go": "package a\n" + methods(30)}, nil},
	})
}
