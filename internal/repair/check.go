package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Report is the result of Check and Verify.
type Report struct {
	// ReadData is set if every byte was read.
	ReadData bool
	Took     time.Duration // of Verify
	Damage   []Damage
	// Notes are remarks about files that are not damaged.
	Notes []string
	// Files is the number of checked files. Bytes is the number of bytes that were read.
	Files int
	Bytes int64
}

type checker struct {
	Report
	*inventory
	// isReported contains the files in Damage.
	isReported map[string]bool
	// replay builds the expected version again from stored responses, if canReplay is set.
	replay    Step
	canReplay bool
	// fixes are the repairs from copies, which carryOutFixes executes.
	fixes  []fix
	result repairResult
	// progress, if not nil, is called with the number of files so far and the total.
	progress func(done, total int64)
	// expectedFiles is the approximate number of files to check and, in a restore of the series, to write.
	expectedFiles int
}

// Check looks for damage of links, published versions, the Parquet series, the ledger, unfinished-run
// files and the held night. Without readData it compares only names and sizes of files. With readData it also
// compares checksums and, if the catalog that readers see is intact, its rows with Parquet. Check changes no file.
func Check(ctx context.Context, w *warehouse.Warehouse, readData bool) (Report, error) {
	return check(ctx, w, readData, nil)
}

// check is given the damage of stored responses.
func check(ctx context.Context, w *warehouse.Warehouse, readData bool, damagedResponses []Damage) (Report, error) {
	if err := w.Folder.CheckExists(); err != nil {
		return Report{}, err
	}
	c, err := newChecker(ctx, w, readData, damagedResponses)
	if err != nil {
		return Report{}, err
	}
	c.checkLinks()
	c.checkFiles()
	damagedHeld, fileCount := w.VerifyHeld(ctx, readData)
	c.Files += fileCount
	for _, d := range damagedHeld {
		c.add(Damage{File: d.File, Problem: d.Problem, Affected: "the held night cannot be published; readers lose nothing", Repair: Step{Kind: DiscardHeld}})
	}
	c.checkLedger()
	c.checkUnfinished()
	if readData && c.hasIntactCatalog(c.visible) {
		if err := c.checkRows(ctx); err != nil {
			problem, _, _ := strings.Cut(err.Error(), "\n")
			c.addPath(w.Folder.VersionCatalog(c.visible), problem, "readers get errors", RebuildCatalog)
		}
	}
	c.makeRebuildsSkipDamage()
	c.Bytes += c.sums.Bytes
	return c.Report, ctx.Err()
}

func newChecker(ctx context.Context, w *warehouse.Warehouse, readData bool, damagedResponses []Damage) (*checker, error) {
	inv, err := takeInventory(ctx, w, readData)
	if err != nil {
		return nil, err
	}
	c := &checker{inventory: inv, isReported: map[string]bool{}}
	c.ReadData = readData
	c.replay, c.canReplay = inv.replayStep(damagedResponses)
	c.result.Source, c.result.At = inv.newestCatalog()
	for _, paths := range inv.pathsBySum {
		c.expectedFiles += len(paths)
	}
	return c, nil
}

func (c *checker) countFile() {
	c.Files++
	if c.progress != nil {
		c.progress(int64(c.Files), int64(max(c.Files, c.expectedFiles)))
	}
}

// add reports damage of a file. The first damage of a file is kept, because it has the most specific cause.
func (c *checker) add(d Damage) {
	if !c.isReported[d.File] {
		c.isReported[d.File] = true
		c.Damage = append(c.Damage, d)
	}
}

func (c *checker) addPath(path, problem, affected string, kind Kind) {
	c.add(Damage{File: c.w.Folder.Relative(path), Problem: problem, Affected: affected, Repair: Step{Kind: kind}})
}

func (c *checker) checkLinks() {
	c.countFile()
	var lost *warehouse.LostError
	switch err := c.w.CheckLink(); {
	case errors.As(err, &lost):
		problem, _, _ := strings.Cut(strings.TrimPrefix(lost.Error(), "find the newest version: "), "; ")
		c.addLinkDamage(warehouse.LatestLink, problem, "readers find no snapshot or an older snapshot, and no night can begin")
	case err != nil:
		c.addLinkDamage(warehouse.LatestLink, err.Error(), "the version that readers see is unknown")
	case c.expected != c.visible:
		at, _ := c.timeOf(c.expected)
		problem := fmt.Sprintf("readers see %s, but should see %s of %s", c.visible, c.expected, warehouse.DayOf(at))
		c.addLinkDamage(warehouse.LatestLink, problem, "readers lack the changes since "+c.visible)
	}
	if c.visible == "" {
		return
	}
	c.countFile()
	want := filepath.Join(warehouse.LatestLink, warehouse.CatalogFile)
	if link, _ := os.Readlink(c.w.Folder.CatalogPath()); link != want {
		c.addLinkDamage(warehouse.CatalogFile, "it is not the link to "+filepath.ToSlash(want), "readers do not find the catalog by its name")
	}
}

// addLinkDamage reports a link because of which readers do not see c.expected, the version that they should see.
func (c *checker) addLinkDamage(link, problem, affected string) {
	d := Damage{File: link, Problem: problem, Affected: affected}
	d.Repair, d.Lost = c.stepOfSnapshot()
	c.add(d)
}

func (c *checker) checkLedger() {
	c.countFile()
	if c.ledgerText == nil && c.expected == "" {
		return
	}
	count := len(c.damagedLines)
	if count > 0 && bytes.HasSuffix(c.ledgerText, c.damagedLines[count-1]) {
		count-- // a crash may leave an unfinished last line
	}
	d := Damage{File: c.w.Folder.Relative(c.w.RunLog.Path()), Repair: Step{Kind: RunNight}, Lost: true,
		Affected: "the list of runs; meta.runs in the catalog contains each run that was followed by a published night"}
	switch {
	case c.ledgerText == nil:
		d.Problem = "it is missing"
	case count > 0:
		d.Problem = fmt.Sprintf("damaged lines: %d", count)
	case c.hasVersion(c.visible) && ledger.Find(c.runs, c.visible).ID == "":
		d.Problem, d.Lost = "it has no line of the version that readers see", false
	default:
		return
	}
	c.add(d)
}

// checkUnfinished checks the unfinished-run files.
func (c *checker) checkUnfinished() {
	locked, isLocked := errors.AsType[*warehouse.LockedError](c.w.Folder.CheckUnlocked())
	isRunning := isLocked && locked.PID != os.Getpid()
	for _, path := range []string{c.w.RunLog.ResumableRunPath(), c.w.RunLog.UnresumableRunPath()} {
		var u warehouse.UnfinishedRun
		exists, err := c.w.Folder.StateFile(filepath.Base(path)).Read(&u)
		if err == nil && !exists {
			continue
		}
		c.countFile()
		switch {
		case err != nil:
			c.addPath(path, warehouse.ProblemOf(err), "an interrupted run cannot be resumed: the next run repeats its requests", RunNight)
		case u.Kind == ledger.Rollback && !isRunning:
			c.addPath(path, "the rollback to "+u.Version+" was killed and is not finished", "days of the Parquet series, which the next run restores", RunNight)
		}
	}
}
