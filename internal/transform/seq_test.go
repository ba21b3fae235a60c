package transform

import "testing"

// TestLateRecordsOfABodyShareASeq numbers the records of the response 3. A body can contain more records than the seq
// can number. They must not get the seq of an earlier record or of the next response, whose copies of a record are
// newer.
func TestLateRecordsOfABodyShareASeq(t *testing.T) {
	t.Parallel()
	in := input{origin: Origin{Seq: 3}}
	const last = 4<<20 - 1
	for earlierRecords, want := range map[int]uint64{0: 3 << 20, 1: 3<<20 + 1, 1<<20 - 1: last, 1 << 20: last, 5 << 20: last} {
		in.startRecord(earlierRecords)
		if in.seq != want || in.recordNumber != earlierRecords+1 {
			t.Errorf("the record after %d records has the seq %d and the number %d, want %d and %d", earlierRecords, in.seq, in.recordNumber, want, earlierRecords+1)
		}
	}
}
