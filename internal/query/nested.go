package query

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

func listAppender(item codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		list := a.(array.ListLike)
		items := list.ListValues()
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

// mapAppender writes a map as an object. The Arrow library loses the extension types of keys and items. A
// BOOLEAN item is therefore written as 0 or 1, and a JSON item as a string, unless the user casts them.
func mapAppender(key, item codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		m := a.(*array.Map)
		keys, items := m.Keys(), m.Items()
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

func structAppender(fields []arrow.Field, codecs []codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		s := a.(*array.Struct)
		dst = append(dst, '{')
		for k, f := range fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, []byte(f.Name)), ':')
			dst = codecs[k].appendJSON(dst, s.Field(k), i)
		}
		return append(dst, '}')
	}
}
