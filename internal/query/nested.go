package query

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

func appendList(item codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		list := a.(array.ListLike)
		items := storageOf(list.ListValues())
		start, end := list.ValueOffsets(i)
		dst = append(dst, '[')
		for k := start; k < end; k++ {
			if k > start {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst, items, int(k))
		}
		return append(dst, ']')
	}
}

// appendMap writes a map as an object whose names are the keys as text. Arrow's
// import drops what DuckDB calls the types of keys and items, so that a BOOLEAN
// item shows as 0 or 1, JSON as a string, and a HUGEINT or UUID in base64: cast
// such items first.
func appendMap(key, item codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		m := a.(*array.Map)
		keys, items := storageOf(m.Keys()), storageOf(m.Items())
		start, end := m.ValueOffsets(i)
		dst = append(dst, '{')
		for k := start; k < end; k++ {
			if k > start {
				dst = append(dst, ',')
			}
			dst = appendQuoted(dst, key.text(nil, keys, int(k)))
			dst = item.appendJSON(append(dst, ':'), items, int(k))
		}
		return append(dst, '}')
	}
}

func appendStruct(fields []arrow.Field) appender {
	codecs := codecsOf(fields)
	return func(dst []byte, a arrow.Array, i int) []byte {
		s := a.(*array.Struct)
		dst = append(dst, '{')
		for k, f := range fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, []byte(f.Name)), ':')
			dst = codecs[k].appendJSON(dst, storageOf(s.Field(k)), i)
		}
		return append(dst, '}')
	}
}

// appendUnion writes the value of the member that the union holds.
func appendUnion(fields []arrow.Field) appender {
	codecs := codecsOf(fields)
	return func(dst []byte, a arrow.Array, i int) []byte {
		u := a.(*array.SparseUnion)
		member := u.ChildID(i)
		return codecs[member].appendJSON(dst, storageOf(u.Field(member)), i)
	}
}

// isNull asks a union's member, since a union has no NULLs of its own.
func isNull(a arrow.Array, i int) bool {
	if u, ok := a.(*array.SparseUnion); ok {
		return isNull(storageOf(u.Field(u.ChildID(i))), i)
	}
	return a.IsNull(i)
}

func codecsOf(fields []arrow.Field) []codec {
	codecs := make([]codec, len(fields))
	for i, f := range fields {
		codecs[i] = codecOf(f)
	}
	return codecs
}
