package load

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// The rows of a child table are numbered by their position, but a service may send a list in another order. So
// an item keeps the position that it has in main. Only the lists with a difference are read.

// item is an item of a list.
type item struct {
	rowID    int64 // of a staged item
	position int64
	rowHash  uint64 // of a staged item
	// content is a hash of the values without the position. keys are hashes of the values in the columns of
	// Definition.ItemKeys; 0 means that all of them are NULL.
	content uint64
	keys    [2]uint64
}

// itemList contains the items of one list.
type itemList struct {
	parent string
	// past contains the last closed version at each position, also at positions of stored items.
	staged, stored, past []item
}

// keepPositions gives the staged items of a stream the positions that they have in main.
func (s *Stage) keepPositions(ctx context.Context, st stream.Stream) error {
	for _, t := range tablesOf(st) {
		if !hasPosition(t) || s.direct.has(t.Name) {
			continue
		}
		if err := s.keepPositionsIn(ctx, st, t); err != nil {
			return fmt.Errorf("match the items of %s: %w", t.Name, err)
		}
	}
	return nil
}

func hasPosition(t stream.Table) bool { return slices.Contains(t.Key, stream.Position) }

func (s *Stage) keepPositionsIn(ctx context.Context, st stream.Stream, t stream.Table) error {
	if isFilled, err := hasRows(ctx, s.draft, mainTable(t.Name)); err != nil || !isFilled {
		return err
	}
	def := s.draft.Schema.Definitions[t.Name]
	staged, stored := stagedTable(st.Name, t.Name), catalogName+"."+mainTable(t.Name)
	if s.withStoredRows.has(st.Name) {
		staged, stored = decodedRowsTable(st.Name, t.Name), maybeChangedRowsTable(st.Name, t.Name)
	}
	sameItem, itemHash := stageSQL.Render("same_row", values{"same_key": joinOn("l.", "m.", t.Key)}), sqlText(stream.RowHash)
	_, detail := s.sources(t.Name)
	if detail.Name != "" { // the fingerprints in main are those of joined rows
		sameItem, itemHash = agrees(t, def), contentHash(t, def)
	}
	reordered, known, positions := stagedTable(st.Name, reorderedName), stagedTable(st.Name, knownName), stagedTable(st.Name, positionsName)
	err := s.draft.Exec(ctx, stageSQL.Render("find_reordered", values{"reordered": reordered, "parents": prefixed("l.", t.Parents),
		"staged": staged, "stored": stored, "same_item": sameItem}))
	if err != nil {
		return err
	}
	if found, err := hasRows(ctx, s.draft, reordered); err != nil || !found {
		return err
	}
	parents, firstKey, secondKey := sqltext.Names(t.Parents), itemKey(def, 0), itemKey(def, 1)
	err = s.draft.Exec(ctx, stageSQL.Render("find_known", values{"positions": positions, "known": known, "parents": parents, "item_hash": itemHash,
		"first_key": firstKey, "second_key": secondKey, "stored": stored, "past": catalogName + "." + pastTable(t.Name), "reordered": reordered}))
	if err != nil {
		return err
	}
	isMoved, err := s.stagePositions(ctx, st, detail.Name != "", stageSQL.Render("read_items", values{"known": known, "parents": parents,
		"parent_texts": sqltext.Join(t.Parents, ", ", valueText), "staged": staged, "item_hash": itemHash, "first_key": firstKey, "second_key": secondKey}))
	if err != nil || !isMoved {
		return err
	}
	var statements []sqlText
	for _, inner := range st.Tables {
		if len(inner.Parents) != len(t.Key) || st.Tables[st.EnclosingTable(inner)].Name != t.Name {
			continue
		}
		statements = append(statements, stageSQL.Render("set_inner_positions", values{"inner": stagedTable(st.Name, inner.Name),
			"column": sqltext.Name(inner.Parents[slices.Index(t.Key, stream.Position)]), "positions": positions, "staged": staged,
			"same_item": joinColumns("i.", inner.Parents, "l.", t.Key)}))
	}
	return s.draft.Exec(ctx, append(statements, stageSQL.Render("set_positions", values{"staged": staged, "positions": positions}))...)
}

// contentHash returns SQL for a hash of the values of an item, without its key.
func contentHash(t stream.Table, def stream.Definition) sqlText {
	columns := slices.DeleteFunc(slices.Clone(def.Columns), func(c stream.Column) bool { return slices.Contains(t.Key, c.Name) })
	return stageSQL.Render("item_hash", values{"values": sqltext.Join(columns, ", ", func(c stream.Column) sqlText { return valueText(c.Name) })})
}

func valueText(column string) sqlText {
	return stageSQL.Render("value_text", values{"column": sqltext.Name(column)})
}

// itemKey returns SQL for a hash of the columns in an element of Definition.ItemKeys, or for NULL.
func itemKey(def stream.Definition, n int) sqlText {
	if n >= len(def.ItemKeys) {
		return stageSQL.Render("no_key", nil)
	}
	hasValue := sqltext.Join(def.ItemKeys[n], " OR ", func(name string) sqlText {
		return stageSQL.Render("has_value", values{"column": sqltext.Name(name)})
	})
	return stageSQL.Render("item_key", values{"has_value": hasValue, "columns": sqltext.Names(def.ItemKeys[n])})
}

// stagePositions stages the positions of the items that must not keep the position in their list. query returns
// the items, list by list. isMoved reports whether there are such items.
func (s *Stage) stagePositions(ctx context.Context, st stream.Stream, isJoined bool, query sqlText) (isMoved bool, err error) {
	var list itemList
	batch := rowBatch{stage: s, schema: st.Name, table: positionsName}
	endList := func() error {
		for i, position := range list.positions() {
			staged := list.staged[i]
			if position == staged.position {
				continue
			}
			isMoved = true
			hash := staged.rowHash - stream.PositionHash(staged.position) + stream.PositionHash(position)
			if err := batch.add(ctx, staged.rowID, position, hash); err != nil {
				return err
			}
		}
		return nil
	}
	err = s.draft.EachRow(ctx, []sqlText{query}, func(scan func(...any) error) error {
		var parent string
		var isKnown, isPast bool
		var it item
		var keys [2]sql.Null[uint64]
		if err := scan(&parent, &isKnown, &isPast, &it.rowID, &it.position, &it.rowHash, &it.content, &keys[0], &keys[1]); err != nil {
			return err
		}
		if parent != list.parent {
			if err := endList(); err != nil {
				return err
			}
			list = itemList{parent: parent}
		}
		if !isJoined {
			it.content -= stream.PositionHash(it.position)
		}
		it.keys = [2]uint64{keys[0].V, keys[1].V}
		list.add(it, isKnown, isPast)
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := endList(); err != nil {
		return false, err
	}
	if err := batch.insert(ctx); err != nil {
		return false, err
	}
	return isMoved, s.shared.commit(ctx)
}

func (l *itemList) add(it item, isKnown, isPast bool) {
	switch {
	case isPast:
		l.past = append(l.past, it)
	case isKnown:
		l.stored = append(l.stored, it)
	default:
		l.staged = append(l.staged, it)
	}
}

// positions returns the positions of the staged items. An item takes the position of the stored item with the
// same content, or else with the same key. An item that was gone and comes back takes its earlier position.
// Then the remaining items take the positions of stored items without a match, as changed items, in the order of
// the list. Further items are new, and have positions that were never used.
func (l *itemList) positions() []int64 {
	positions := make([]int64, len(l.staged))
	isTaken, isStored := map[int64]bool{}, map[int64]bool{}
	for _, it := range l.stored {
		isStored[it.position] = true
	}
	gone := slices.DeleteFunc(slices.Clone(l.past), func(it item) bool { return isStored[it.position] })
	match := func(known []item, keyOf func(item) uint64) {
		free := map[uint64][]int64{}
		for _, it := range known {
			if key := keyOf(it); key != 0 && !isTaken[it.position] {
				free[key] = append(free[key], it.position)
			}
		}
		for i, it := range l.staged {
			key := keyOf(it)
			if positions[i] != 0 || len(free[key]) == 0 {
				continue
			}
			positions[i], free[key] = free[key][0], free[key][1:]
			isTaken[positions[i]] = true
		}
	}
	firstKey, secondKey := func(it item) uint64 { return it.keys[0] }, func(it item) uint64 { return it.keys[1] }
	match(l.stored, func(it item) uint64 { return it.content })
	match(l.stored, firstKey)
	match(l.stored, secondKey)
	match(gone, firstKey)
	match(gone, secondKey)
	match(l.stored, func(item) uint64 { return 1 })
	next := int64(1)
	for _, it := range slices.Concat(l.stored, l.past) {
		next = max(next, it.position+1)
	}
	for i, position := range positions {
		if position == 0 {
			positions[i] = next
			next++
		}
	}
	return positions
}
