package sim

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

type seed uint64

// kind is a type of record. Ids of different kinds differ.
type kind uint64

const (
	kindOutlet kind = iota + 1
	kindChannel
	kindProduct
	kindProductType
	kindDisclaimer
	kindTeam
	kindProfile
	kindOrder
	kindItem
	kindCampaign
	kindQuestionnaire
	kindArticle
	kindStatus
	kindComment
	kindFile
	kindFolder
	kindPerson // indexes in people; clients from 100, buyers from 200, referrers from 300, brand voices from 500
	kindRoute  // no record; for random choices about lists and requests
)

// mix is the finalizer of splitmix64: it is fast, and every input bit affects every output
// bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// roll returns a random number that depends only on the seed, the kind and number of a record, and the
// salt.
func (s seed) roll(k kind, n uint32, salt uint64) uint64 {
	return mix(uint64(s) ^ mix(uint64(k)<<40|uint64(n)) ^ mix(salt)<<1)
}

// rng returns the random source for an index, usually a day, and a kind. Kinds have separate sources, so
// that random choices for one kind do not change the choices for another.
func (s seed) rng(index int, k kind) *rand.Rand {
	return rand.New(rand.NewPCG(mix(uint64(s)^mix(uint64(k))), uint64(int64(index))))
}

func pick[T any](items []T, roll uint64) T {
	return items[(roll>>8)%uint64(len(items))]
}

func oneIn(roll uint64, n uint64) bool { return (roll>>16)%n == 0 }

// roundByChance rounds an expected number of events up or down at random. The mean is
// exact, also for less than one event per day.
func roundByChance(r *rand.Rand, expected float64) int {
	whole := int(expected)
	if r.Float64() < expected-float64(whole) {
		whole++
	}
	return whole
}

// appendID appends the id of record n of a kind. The id has the form of a random UUID (version 4) and
// contains n, combined with a mask. The method numberOf computes n from the id, so the service needs no
// index of ids, which would be large for a million listings.
func (s seed) appendID(b []byte, k kind, n uint32) []byte {
	h := s.roll(k, n, 0)
	masked := n ^ uint32(s.roll(k, uint32(h), h>>32&0xffff))
	raw := [16]byte{
		byte(masked >> 24), byte(masked >> 16), byte(masked >> 8), byte(masked),
		byte(h >> 56), byte(h >> 48), byte(h>>52)&0x0f | 0x40, byte(h >> 49),
		byte(h>>58) | 0x80, byte(h >> 51),
		byte(h >> 40), byte(h >> 32), byte(h >> 24), byte(h >> 16), byte(h >> 8), byte(h),
	}
	for i, group := range [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, raw[group[0]:group[1]])
	}
	return b
}

func (s seed) id(k kind, n uint32) string { return string(s.appendID(nil, k, n)) }

// numberOf returns false if appendID did not create the id for this kind.
func (s seed) numberOf(k kind, id string) (uint32, bool) {
	if len(id) != 36 { // a UUID as text
		return 0, false
	}
	head, headErr := hex.DecodeString(id[:8])
	tail, tailErr := hex.DecodeString(id[24:])
	if headErr != nil || tailErr != nil {
		return 0, false
	}
	masked, high, low := binary.BigEndian.Uint32(head), binary.BigEndian.Uint16(tail), binary.BigEndian.Uint32(tail[2:])
	n := masked ^ uint32(s.roll(k, low, uint64(high)))
	return n, s.id(k, n) == id
}
