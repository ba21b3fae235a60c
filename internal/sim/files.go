package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// file is an upload. Files in use are never deleted.
type file struct {
	n                uint32
	size             int64
	folder           int64 // -1 none
	created, updated int64
	used             bool // a campaign or an article refers to it
	gone             bool // deleted
}

type folder struct {
	n                uint32
	created, updated int64
	renamed          int
	gone             bool
}

// newFolder makes a folder at or after an instant.
func (w *world) newFolder(wish int64) uint32 {
	n := uint32(len(w.folders))
	at := w.folderList.stamp(wish)
	w.folders = append(w.folders, folder{n: n, created: at, updated: at})
	w.folderList.add(n)
	return n
}

// newFile uploads a file at or after an instant.
func (w *world) newFile(r *rand.Rand, wish int64) uint32 {
	n := uint32(len(w.files))
	at := w.fileList.stamp(wish)
	w.files = append(w.files, file{
		n: n, size: r.Int64N(20_000_000), folder: w.someFolder(r), created: at, updated: at,
	})
	w.fileList.add(n)
	return n
}

// someFolder draws a folder that exists; a third of the time none.
func (w *world) someFolder(r *rand.Rand) int64 {
	if len(w.folderList.order) == 0 || r.IntN(3) == 0 {
		return -1
	}
	return int64(w.folderList.order[r.IntN(len(w.folderList.order))])
}

// stepFiles uploads the day's files, moves or deletes one now and then, and
// renames a folder even more rarely.
func (w *world) stepFiles(r *rand.Rand) {
	for _, wish := range w.moments(r, w.due(w.opts.Files)-len(w.files)) {
		w.newFile(r, wish)
	}
	if len(w.fileList.order) > 0 && r.IntN(5) == 0 {
		f := &w.files[w.fileList.order[r.IntN(len(w.fileList.order))]]
		f.updated = w.touch(r, f.updated)
		if f.folder = w.someFolder(r); r.IntN(4) == 0 && !f.used {
			f.gone = true
			w.fileList.drop(f.n)
		}
	}
	if len(w.folderList.order) > 0 && r.IntN(20) == 0 {
		f := &w.folders[w.folderList.order[r.IntN(len(w.folderList.order))]]
		f.renamed++
		f.updated = w.touch(r, f.updated)
	}
}

func (w *world) fileName(f *file) string {
	if h := w.seed.roll(kindFile, f.n, 2); oneIn(h, 6) {
		return pick(oddNames(), mix(h)) + ".docx"
	}
	return "brief " + strconv.Itoa(int(f.n)) + " (final).pdf"
}

func (w *world) fileURL(f *file) string {
	return "https://files.example.com/" + w.seed.id(kindFile, f.n) + "?sig=a%2Fb%3D"
}

// fileSort orders files by a field of sort_by.
func (w *world) fileSort(field string) func(a, b uint32) int {
	switch field {
	case "created_at":
		return byKey(func(n uint32) int64 { return w.files[n].created })
	case "updated_at":
		return byKey(func(n uint32) int64 { return w.files[n].updated })
	case "name":
		return byKey(func(n uint32) string { return w.fileName(&w.files[n]) })
	case "size":
		return byKey(func(n uint32) int64 { return w.files[n].size })
	}
	return nil
}

// fileMatch applies a filter of GET /files.
func (w *world) fileMatch(n uint32, key string, values []string) bool {
	if key != "folder_id" {
		return true
	}
	f := w.files[n].folder
	return f >= 0 && slices.Contains(values, w.seed.id(kindFolder, uint32(f)))
}

// renderFile writes a file, which lists and details show alike.
func (w *world) renderFile(e *enc, n uint32) {
	f := &w.files[n]
	e.begin(kindFile, n)
	e.id("id", kindFile, n)
	e.str("name", w.fileName(f))
	e.optStr("file_key", "uploads/2026/"+strconv.Itoa(int(n)))
	e.str("file_url", w.fileURL(f))
	e.optNum("size", f.size)
	e.optStr("mime_type", pick([]string{"application/pdf", "image/png", "application/x-unknown"}, e.record))
	e.id("team_id", kindTeam, 0)
	e.optID("folder_id", kindFolder, f.folder)
	e.id("uploaded_by", kindPerson, n%uint32(len(people())))
	e.when("created_at", f.created)
	e.when("updated_at", f.updated)
	e.null("deleted_at")
	e.unknown()
	e.end()
}

// fileContent is what GET /files/{id}/download answers.
func (w *world) fileContent(e *enc, n uint32) {
	e.b = append(e.b, "%PDF-1.7\n"+w.fileName(&w.files[n])+"\n\x00\xff"...)
}

// folderSort orders folders by a field of sort_by.
func (w *world) folderSort(field string) func(a, b uint32) int {
	if field == "created_at" {
		return byKey(func(n uint32) int64 { return w.folders[n].created })
	}
	return nil
}

// renderFolder writes an item of GET /folders.
func (w *world) renderFolder(e *enc, n uint32) {
	f := &w.folders[n]
	e.begin(kindFolder, n)
	e.id("id", kindFolder, n)
	e.str("name", "Folder "+strconv.Itoa(int(n))+pick([]string{"", " / 2026", " “Ω”"}, e.record)+"."+strconv.Itoa(f.renamed))
	e.id("team_id", kindTeam, 0)
	e.id("created_by", kindPerson, n%uint32(len(people())))
	e.when("created_at", f.created)
	e.when("updated_at", f.updated)
	if e.keep("deleted_at") {
		e.null("deleted_at")
	}
	e.unknown()
	e.end()
}
