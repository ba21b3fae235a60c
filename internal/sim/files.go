package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// file is an upload. Referenced files are never deleted.
type file struct {
	n                uint32
	size             int64
	folder           int64 // -1 means none
	created, updated int64
	isReferenced     bool // by a campaign or an article
}

type folder struct {
	n                uint32
	created, updated int64
	renames          int
}

type files struct {
	*world
	all        []file
	folders    []folder
	list       list // GET /files
	folderList list // GET /folders
}

func newFiles(w *world) *files {
	s := &files{world: w}
	for n := range w.opts.Folders {
		s.newFolder(w.birth + int64(n)*daySeconds)
	}
	return s
}

func (s *files) newFolder(earliest int64) {
	n := uint32(len(s.folders))
	at := s.folderList.nextCreatedAt(earliest)
	s.folders = append(s.folders, folder{n: n, created: at, updated: at})
	s.folderList.add(n)
}

func (s *files) newFile(r *rand.Rand, earliest int64) {
	n := uint32(len(s.all))
	at := s.list.nextCreatedAt(earliest)
	s.all = append(s.all, file{
		n: n, size: r.Int64N(20_000_000), folder: s.drawFolder(r), created: at, updated: at,
	})
	s.list.add(n)
}

// drawFolder returns -1 for no folder.
func (s *files) drawFolder(r *rand.Rand) int64 {
	if len(s.folderList.numbers) == 0 || r.IntN(3) == 0 {
		return -1
	}
	return int64(s.folderList.numbers[r.IntN(len(s.folderList.numbers))])
}

func (s *files) stepDay(r *rand.Rand) {
	for _, earliest := range s.drawSeconds(r, s.targetCount(s.opts.Files)-len(s.all)) {
		s.newFile(r, earliest)
	}
	if len(s.list.numbers) > 0 && r.IntN(5) == 0 {
		f := &s.all[s.list.numbers[r.IntN(len(s.list.numbers))]]
		f.updated = s.drawLater(r, f.updated)
		f.folder = s.drawFolder(r)
		if r.IntN(4) == 0 && !f.isReferenced {
			s.list.remove(f.n)
		}
	}
	if len(s.folderList.numbers) > 0 && r.IntN(20) == 0 {
		f := &s.folders[s.folderList.numbers[r.IntN(len(s.folderList.numbers))]]
		f.renames++
		f.updated = s.drawLater(r, f.updated)
	}
}

func (e *enc) fileName(n uint32) string {
	if name := e.words.oddName(e.seed.roll(kindFile, n, 2), 6); name != "" {
		return name + ".docx"
	}
	return "brief " + strconv.Itoa(int(n)) + " (final).pdf"
}

func fileURL(s seed, n uint32) string {
	return "https://files.example.com/" + s.id(kindFile, n) + "?sig=a%2Fb%3D"
}

func (s *files) renderFile(e *enc, n uint32) {
	f := &s.all[n]
	e.beginRecord(kindFile, n)
	e.str("name", e.fileName(n))
	e.optStr("file_key", "uploads/2026/"+strconv.Itoa(int(n)))
	e.str("file_url", fileURL(e.seed, n))
	e.optNum("size", f.size)
	e.optStr("mime_type", e.either(pick([]string{"application/pdf", "image/png", "application/x-unknown"}, e.roll), "application/pdf"))
	e.id("team_id", kindTeam, 0)
	if f.folder < 0 {
		e.null("folder_id")
	} else {
		e.id("folder_id", kindFolder, uint32(f.folder))
	}
	e.id("uploaded_by", kindPerson, n%uint32(len(e.words.people)))
	e.times(f.created, f.updated)
	e.null("deleted_at")
	e.endRecord()
}

func renderFileContent(e *enc, n uint32) {
	e.b = append(e.b, "%PDF-1.7\n"+e.fileName(n)+"\n\x00\xff"...)
}

func (s *files) renderFolder(e *enc, n uint32) {
	f := &s.folders[n]
	e.beginRecord(kindFolder, n)
	number := strconv.Itoa(int(n))
	e.str("name", e.either("Folder "+number+pick([]string{"", " / 2026", " “Ω”"}, e.roll)+"."+strconv.Itoa(f.renames), "Briefs "+number))
	e.id("team_id", kindTeam, 0)
	e.id("created_by", kindPerson, n%uint32(len(e.words.people)))
	e.times(f.created, f.updated)
	e.optWhen("deleted_at", 0)
	e.endRecord()
}

// useNewest returns up to count of the newest files, or of any files in an unordered list. It marks them
// as referenced, so that they are not deleted.
func (s *files) useNewest(count int) []uint32 {
	all := s.list.numbers
	newest := slices.Clone(all[len(all)-min(count, len(all)):])
	for _, n := range newest {
		s.all[n].isReferenced = true
	}
	return newest
}
