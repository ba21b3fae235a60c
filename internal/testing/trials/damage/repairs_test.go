package damage_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// TestRepairsRestoreAllIntactData runs fewer combinations than TestTortureRepairs. It also removes, cuts or changes one
// to three objects of a backup, and restores the backup. All files of the other objects must be restored, and all their
// rows, closed rows and runs must be published. Then the commands that "verify" proposes must leave no damage.
func TestRepairsRestoreAllIntactData(t *testing.T) {
	t.Parallel()
	const workers = 2
	combinations := trials.Size(40, 7)
	r := newRepairTrial(t)
	r.runAll(t, workers, combinations)
	t.Log(r.counts)
	t.Run("backup", func(t *testing.T) {
		backup := newRestoreTrial(t, r)
		lossless := 0
		for i := range combinations {
			if backup.restoreDamaged(t, rand.New(rand.NewPCG(uint64(i), 11))) {
				lossless++
			}
		}
		t.Logf("%d damaged backups: %d restored without loss, %d with a reported loss", combinations, lossless, combinations-lossless)
	})
}

// TestTortureRepairs damages one or two files, folders or links of a warehouse and runs the
// commands that "verify" proposes, in the given order. If no command fails, all rows, closed rows and
// runs in intact files must then be published. The number of a combination is the seed that selects
// its damage.
func TestTortureRepairs(t *testing.T) {
	trials.RequireTorture(t)
	const combinations, workers = 1000, 3
	startedAt := time.Now()
	r := newRepairTrial(t)
	r.runAll(t, workers, combinations)
	trials.RecordTrial(t, startedAt, func() torture.Trial {
		return torture.Trial{Name: "repairs", Runs: combinations,
			Procedure: "one or two places of a warehouse are damaged: a file is removed, truncated, changed by one bit, swapped with another file or replaced by the file of another run; a folder or a link is removed",
			Outcome:   r.counts.String()}
	})
}

// repairTrial contains the undamaged warehouse, whose copies are damaged and repaired.
type repairTrial struct {
	*trials.Harness
	// files contains the SHA-256 sums of all files, by path.
	files map[string]string
	// links contains the targets of all symbolic links, by path.
	links map[string]string
	// factsByPath contains the facts of each Parquet file, catalog and file of changes (.changes).
	factsByPath map[string]facts
	// visible are the facts in the published catalog.
	visible facts
	// visibleSums contains the checksums of the tables in the published catalog.
	visibleSums map[string]string
	// baseRuns are the newest run and the runs on which it is based, newest first. The run that
	// was rolled back is not among them.
	baseRuns  []string
	pathKinds []pathKind

	mu     sync.Mutex
	counts repairCounts
}

// facts is a set of texts. A text identifies a row, a closed row or a run.
type facts map[string]bool

// Results of a combination.
const (
	resultHarmless       = "harmless"
	resultRepaired       = "repaired"
	resultReported       = "reported loss"
	resultRefused        = "refused"
	resultLost           = "lost"
	resultUnreported     = "unreported damage"
	resultFalseUnchanged = `false "nothing was changed"`
)

type repairCounts map[string]int

func (c repairCounts) String() string {
	return fmt.Sprintf("%d harmless, %d repaired completely, %d with data that no intact file contained and verify reported as lost, %d refused with all files kept; "+
		"%d lost data of intact files, %d with unreported damage, %d with a false \"nothing was changed\"",
		c[resultHarmless], c[resultRepaired], c[resultReported], c[resultRefused], c[resultLost], c[resultUnreported], c[resultFalseUnchanged])
}

// newRepairTrial builds a warehouse of six nights, without their stored responses. The fourth night was rolled back.
func newRepairTrial(t *testing.T) *repairTrial {
	t.Helper()
	h := trials.NewHarness(t, trials.TrialWorld(31), trials.FewStreams()...)
	h.Config.Warehouse.KeepVersions = 3
	h.GoodNight()
	h.GoodNight()
	h.Service.Advance(1)
	h.SameDayNight()
	third := h.LatestRun()
	h.GoodNight()
	wh := trials.WarehouseOf(h.Config)
	h.At = h.At.Add(time.Minute)
	lock, err := wh.Lock("test", h.At)
	testharness.Must(t, err)
	_, err = wh.Rollback(third, h.At)
	testharness.Must(t, errors.Join(err, lock.Release()))
	h.GoodNight()
	h.GoodNight()
	testharness.Must(t, os.RemoveAll(h.Path("raw")))
	r := &repairTrial{Harness: h, factsByPath: map[string]facts{}, counts: repairCounts{}}
	r.files, r.links = readTree(t, h.Config.Warehouse.Dir)
	m, err := wh.Versions.ReadManifest(h.LatestRun())
	testharness.Must(t, err)
	for run := m.RunID; run != ""; {
		r.baseRuns = append(r.baseRuns, run)
		data, err := os.ReadFile(h.Path("parquet", ".meta", run+".json"))
		testharness.Must(t, err)
		var record struct{ Previous string }
		testharness.Must(t, json.Unmarshal(data, &record))
		run = record.Previous
	}
	db := trials.Open(t, "?threads=1")
	for path := range r.files {
		r.factsByPath[path] = r.readFacts(t, db, filepath.Join(h.Config.Warehouse.Dir, path), path)
	}
	r.visible = r.factsByPath[filepath.Join("versions", h.LatestRun(), "catalog.duckdb")]
	const withAllMeta = false
	r.visibleSums = tableSums(t, h.Path("catalog.duckdb"), withAllMeta)
	delete(r.visibleSums, "meta.tables") // a rebuild adds rows for its own run
	r.pathKinds = r.listPathKinds()
	if len(r.visible) < 100 || len(r.baseRuns) != 5 {
		t.Fatalf("the catalog has %d facts of %d runs, want at least 100 facts of 5 runs", len(r.visible), len(r.baseRuns))
	}
	return r
}

// readTree returns the checksums of the files in a warehouse and the targets of the links. It leaves
// out files that a repair does not restore.
func readTree(t *testing.T, dir string) (files, links map[string]string) {
	t.Helper()
	return trials.SumTree(t, dir, "state/lock", "state/verified", "state/seen")
}

// readFacts returns the facts in a file. The fact of a row consists of table, key, row_hash and
// valid_from. A closed row has a second fact that also contains valid_to. The fact of a run is its
// id.
func (r *repairTrial) readFacts(t *testing.T, db *sql.DB, path, name string) facts {
	t.Helper()
	contained := facts{}
	collect := func(statement string) {
		for _, row := range trials.Query(t, db, statement) {
			contained[row[0].String] = true
		}
	}
	switch base := filepath.Base(name); {
	case strings.HasSuffix(base, ".parquet"):
		collect(rowFacts(r.table(strings.TrimSuffix(base, ".parquet")), "read_parquet('"+path+"', hive_partitioning = false)", ""))
	case base == "catalog.duckdb":
		testharness.Must(t, execSQL(db, "ATTACH '"+path+"' AS warehouse (READ_ONLY)"))
		for _, table := range r.Config.Warehouse.Tables {
			collect(rowFacts(table, "warehouse.main."+table.Name, ""))
			collect(rowFacts(table, "warehouse.past."+table.Name, ""))
			collect(rowFacts(table, "warehouse.past."+table.Name, " || ' until ' || epoch_us(valid_to)"))
		}
		collect("SELECT 'run ' || run_id FROM warehouse.meta.runs WHERE kind <> 'rebuild' AND kind <> 'rollback'")
		testharness.Must(t, execSQL(db, "DETACH warehouse"))
	case strings.HasSuffix(base, ".changes"):
		source := "read_parquet('" + path + "', hive_partitioning = false)"
		collect("SELECT 'run ' || run_id FROM " + source + " WHERE meta_table = 'runs' AND NOT meta_gone AND kind <> 'rebuild' AND kind <> 'rollback'")
		if columns := trials.Query(t, db, "SELECT column_name FROM (DESCRIBE SELECT * FROM "+source+") WHERE column_name = 'past_row'"); len(columns) == 0 {
			break
		}
		for _, table := range r.Config.Warehouse.Tables {
			var columns []string
			for _, key := range table.Key {
				columns = append(columns, "past_row['"+key+"'] AS "+key)
			}
			rows := "(SELECT " + strings.Join(columns, ", ") + ", past_row['valid_from']::TIMESTAMPTZ AS valid_from, past_row['valid_to']::TIMESTAMPTZ AS valid_to, past_row['row_hash']::UBIGINT AS row_hash FROM " +
				source + " WHERE meta_table = 'past." + table.Name + "')"
			collect(rowFacts(table, rows, ""))
			collect(rowFacts(table, rows, " || ' until ' || epoch_us(valid_to)"))
		}
	}
	return contained
}

func (r *repairTrial) table(name string) stream.Table {
	return r.Config.Warehouse.Tables[slices.IndexFunc(r.Config.Warehouse.Tables, func(t stream.Table) bool { return t.Name == name })]
}

// rowFacts returns a query for the facts of the rows in source. suffix is SQL that is appended to
// each fact. The query converts row_hash to an unsigned number, because it is signed in Parquet files.
func rowFacts(table stream.Table, source, suffix string) string {
	key := "concat_ws('/', " + strings.Join(table.Key, ", ") + ")"
	return "SELECT '" + table.Name + " ' || " + key + " || ' ' || row_hash::HUGEINT::VARCHAR || ' since ' || epoch_us(valid_from)" + suffix +
		" FROM (SELECT * REPLACE (CASE WHEN row_hash < 0 THEN row_hash::HUGEINT + 18446744073709551616 ELSE row_hash::HUGEINT END AS row_hash) FROM " + source + ")"
}

func execSQL(db *sql.DB, statement string) error {
	_, err := db.Exec(statement)
	return err
}

// pathKind is a kind of files, folders or links that can be damaged.
type pathKind struct {
	name  string
	paths []string
	// isFolder and isLink are both false for files.
	isFolder, isLink bool
}

func (r *repairTrial) listPathKinds() []pathKind {
	latest := r.LatestRun()
	kinds := map[string]*pathKind{}
	add := func(kind, path string, isFolder, isLink bool) {
		if kinds[kind] == nil {
			kinds[kind] = &pathKind{name: kind, isFolder: isFolder, isLink: isLink}
		}
		if !slices.Contains(kinds[kind].paths, path) {
			kinds[kind].paths = append(kinds[kind].paths, path)
		}
	}
	for path := range r.files {
		parts := strings.Split(path, "/")
		switch {
		case parts[0] == "versions":
			age := "older"
			if parts[1] == latest {
				age = "newest"
			}
			base := parts[2]
			if strings.HasSuffix(base, ".parquet") {
				base = "parquet"
			}
			add(age+" "+base, path, false, false)
			add("version", "versions/"+parts[1], true, false)
			if age == "newest" {
				add("newest version", "versions/"+parts[1], true, false)
			}
		case parts[0] == "parquet" && strings.HasPrefix(parts[1], "."):
			kind := parts[1] + filepath.Ext(path)
			if parts[2] == "index.json" {
				kind = "index"
			}
			add(kind, path, false, false)
			add("folder "+parts[1], "parquet/"+parts[1], true, false)
		case parts[0] == "parquet":
			add("series", path, false, false)
			add("folder of a table", "parquet/"+parts[1], true, false)
			add("folder of a day", filepath.Dir(path), true, false)
		case path == "state/runs.jsonl":
			add("ledger", path, false, false)
		}
	}
	for _, folder := range []string{"versions", "parquet", "state"} {
		add("all of "+folder, folder, true, false)
	}
	add("latest", "latest", false, true)
	add("catalog link", "catalog.duckdb", false, true)
	var all []pathKind
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[kind].paths)
		all = append(all, *kinds[kind])
	}
	return all
}

// runAll runs combinations and counts their results.
func (r *repairTrial) runAll(t *testing.T, workers, combinations int) {
	t.Helper()
	t.Run("all", func(t *testing.T) {
		for first := range workers {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				db := trials.Open(t, "?threads=1")
				for i := first; i < combinations; i += workers {
					result := r.runCombination(t, db, i)
					r.mu.Lock()
					r.counts[result]++
					r.mu.Unlock()
				}
			})
		}
	})
	for _, result := range []string{resultLost, resultUnreported, resultFalseUnchanged} {
		if r.counts[result] > 0 {
			t.Errorf("%d combinations have the result %q, want none", r.counts[result], result)
		}
	}
}

// runCombination damages one or two paths in a copy of the warehouse, repairs the copy and checks
// it. number is the seed of the random choices.
func (r *repairTrial) runCombination(t *testing.T, db *sql.DB, number int) (result string) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(number), 7))
	cfg := r.Config
	cfg.Warehouse.Dir = filepath.Join(t.TempDir(), "w")
	at := r.At.Add(time.Hour)
	cfg.Now = func() time.Time { at = at.Add(time.Second); return at }
	copyTree(t, r.Config.Warehouse.Dir, cfg.Warehouse.Dir, true)
	defer func() { testharness.Must(t, os.RemoveAll(cfg.Warehouse.Dir)) }()
	description := r.damage(t, random, cfg.Warehouse.Dir)
	if random.IntN(3) > 0 {
		description += "; " + r.damage(t, random, cfg.Warehouse.Dir)
	}
	intact := r.intactFacts(t, cfg.Warehouse.Dir)
	unrecoverable := missingFacts(intact, r.visible)
	effect := r.repairAll(t, cfg)
	defer func() {
		if t.Failed() {
			t.Logf("combination %d: %s: %s: %s\n%s", number, description, result, effect.problem, effect.output)
		}
	}()
	fail := func(result, format string, args ...any) string {
		effect.problem = fmt.Sprintf(format, args...)
		t.Fail()
		return result
	}
	if effect.result != "" {
		return fail(effect.result, "%s", effect.problem)
	}
	got := facts{}
	if _, err := os.Stat(filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb")); err == nil {
		got = r.readFacts(t, db, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"), "catalog.duckdb")
	}
	if effect.refused {
		// A refused repair must keep the data, but need not publish it.
		maps.Copy(got, r.intactFacts(t, cfg.Warehouse.Dir))
	}
	switch lost := missingFacts(got, intact); {
	case len(lost) > 0:
		return fail(resultLost, "%d of %d facts of intact files are missing: %v", len(lost), len(intact), lost[:min(4, len(lost))])
	case effect.refused && len(unrecoverable) == 0:
		return fail(resultLost, "the repair was refused, although intact files contain all data")
	case effect.refused:
		return resultRefused
	case len(unrecoverable) == 0 && !r.sameContent(t, cfg.Warehouse.Dir):
		return fail(resultLost, "the values differ from the values before the damage")
	case effect.commands == 0:
		return resultHarmless
	case len(unrecoverable) == 0:
		return resultRepaired
	case !effect.reported:
		return fail(resultUnreported, "%d facts are lost and verify reported no loss: %v", len(unrecoverable), unrecoverable[:min(4, len(unrecoverable))])
	}
	return resultReported
}

// repairEffect is the effect of the commands that "verify" proposed.
type repairEffect struct {
	// reported means that "verify" reported a loss.
	reported bool
	// refused means that a command failed, or that the proposed repairs have no effect or do not
	// end.
	refused bool
	// commands counts the commands that were run.
	commands int
	// result is set if "verify" failed, or if "verify" or a command reported something false.
	// problem describes it.
	result, problem string
	// output is the output of "verify" and the commands.
	output string
}

// repairAll runs the commands that "verify" proposes, in the given order, until "verify" proposes no
// command.
func (r *repairTrial) repairAll(t *testing.T, cfg pipeline.Config) (effect repairEffect) {
	t.Helper()
	const maxRounds = 6
	files, links := readTree(t, cfg.Warehouse.Dir)
	mustReport := r.damageMustBeReported(files) || !maps.Equal(links, r.links)
	for round := range maxRounds {
		v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
		if err != nil {
			effect.result, effect.problem = resultLost, "verify: "+err.Error()
			return effect
		}
		for _, d := range v.Damage {
			effect.output += fmt.Sprintf("  %d: %s: %s: %s (lost %v)\n", round, d.File, d.Problem, d.Repair.Command(), d.Lost)
		}
		effect.reported = effect.reported || v.Result() == repair.DataLost
		if round == 0 && mustReport && len(v.Damage) == 0 {
			effect.result, effect.problem = resultUnreported, "verify found no damage"
			return effect
		}
		plan := repair.Plan(v.Damage)
		if len(plan) == 0 {
			return effect
		}
		filesAtStart, linksAtStart := readTree(t, cfg.Warehouse.Dir)
		for _, step := range plan {
			before, beforeLinks := readTree(t, cfg.Warehouse.Dir)
			err := r.run(t, cfg, step)
			effect.commands++
			effect.output += fmt.Sprintf("  %d: %s: %v\n", round, step.Command(), err)
			if err == nil {
				continue
			}
			effect.refused = true
			if after, afterLinks := readTree(t, cfg.Warehouse.Dir); strings.Contains(err.Error(), "nothing was changed") && !(maps.Equal(before, after) && maps.Equal(beforeLinks, afterLinks)) {
				effect.result, effect.problem = resultFalseUnchanged, step.Command()+": "+err.Error()
			}
			return effect
		}
		if filesAtEnd, linksAtEnd := readTree(t, cfg.Warehouse.Dir); maps.Equal(filesAtStart, filesAtEnd) && maps.Equal(linksAtStart, linksAtEnd) {
			// The plan has changed no file. Only RunNight may have no effect here: run executes only
			// the start of the night, and a complete night would add a line to the ledger.
			effect.refused = slices.ContainsFunc(plan, func(step repair.Step) bool { return step.Kind != repair.RunNight })
			return effect
		}
	}
	effect.refused = true
	return effect
}

// run runs a repair. It locks the warehouse if the command of the repair does so.
func (r *repairTrial) run(t *testing.T, cfg pipeline.Config, step repair.Step) error {
	t.Helper()
	wh := trials.WarehouseOf(cfg)
	now := cfg.Now()
	runLocked := func(work func() error) error {
		lock, err := wh.LockExisting("test", now)
		if err != nil {
			return err
		}
		return errors.Join(work(), lock.Release())
	}
	switch step.Kind {
	case repair.RunNight: // only the part of a night before its first request
		return runLocked(wh.Recover)
	case repair.RollBack, repair.DropVersion:
		return runLocked(func() error { return runRepair(t.Context(), cfg, step, now) })
	}
	return runRepair(t.Context(), cfg, step, now)
}

// damageMustBeReported reports whether "verify" must report damage for a warehouse with these files.
// It does not have to report damage of three kinds: a lost version other than the newest, a file of
// state/ other than the ledger, and metadata of a run that was rolled back.
func (r *repairTrial) damageMustBeReported(got map[string]string) bool {
	for path, sum := range r.files {
		if got[path] == sum {
			continue
		}
		parts := strings.Split(path, "/")
		mayBeSilent := false
		switch parts[0] {
		case "state":
			mayBeSilent = path != "state/runs.jsonl"
		case "parquet":
			mayBeSilent = parts[1] == ".meta" && !slices.Contains(r.baseRuns, strings.TrimSuffix(parts[2], filepath.Ext(path)))
		case "versions":
			isNewest := parts[1] == r.baseRuns[0]
			mayBeSilent = !isNewest && !hasFileIn(got, "versions/"+parts[1]+"/")
		}
		if !mayBeSilent {
			return true
		}
	}
	return false
}

func hasFileIn(files map[string]string, folder string) bool {
	for path := range files {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

func (r *repairTrial) sameContent(t *testing.T, dir string) bool {
	t.Helper()
	got := tableSums(t, filepath.Join(dir, "catalog.duckdb"), false)
	for table, sum := range r.visibleSums {
		if got[table] != sum {
			t.Logf("%s has the checksum %s, want %s as before", table, got[table], sum)
			return false
		}
	}
	return true
}

// intactFacts returns the facts in unchanged files whose checksum is in an intact manifest. A file
// of changes counts only if all later runs have an intact manifest too.
func (r *repairTrial) intactFacts(t *testing.T, dir string) facts {
	t.Helper()
	files, _ := readTree(t, dir)
	isIntact := func(path string) bool { return files[path] != "" && files[path] == r.files[path] }
	// hasManifest contains the runs with an intact manifest. inChain contains a run if that run and
	// all later runs have an intact manifest.
	hasManifest, inChain := map[string]bool{}, map[string]bool{}
	isUnbroken := true
	for _, run := range r.baseRuns {
		startedAt, err := time.Parse("20060102T150405Z", run)
		testharness.Must(t, err)
		dayManifest := filepath.Join("parquet", ".manifests", "snapshot_date="+startedAt.Format(time.DateOnly)+".json")
		hasManifest[run] = isIntact(filepath.Join("versions", run, "manifest.json")) || isIntact(filepath.Join("parquet", ".meta", run+".json")) ||
			isIntact(dayManifest) && r.isManifestOf(t, dayManifest, run)
		isUnbroken = isUnbroken && hasManifest[run]
		inChain[run] = isUnbroken
	}
	all := facts{}
	for path, contained := range r.factsByPath {
		if !isIntact(path) {
			continue
		}
		parts := strings.Split(path, "/")
		isUsable := false
		switch {
		case parts[0] == "versions" && parts[2] == "meta.changes":
			isUsable = inChain[parts[1]]
		case parts[0] == "versions":
			isUsable = hasManifest[parts[1]]
		case parts[0] == "parquet" && parts[1] == ".meta":
			isUsable = inChain[strings.TrimSuffix(parts[2], ".changes")]
		case parts[0] == "parquet" && len(parts) == 4:
			day := strings.TrimPrefix(parts[2], "snapshot_date=")
			isUsable = slices.ContainsFunc(r.baseRuns, func(run string) bool {
				return hasManifest[run] && r.isManifestOf(t, filepath.Join("parquet", ".manifests", "snapshot_date="+day+".json"), run)
			})
		}
		for fact := range contained {
			if isUsable {
				all[fact] = true
			}
		}
	}
	return all
}

// isManifestOf reports whether the manifest at path belongs to a run. It reads the undamaged
// warehouse.
func (r *repairTrial) isManifestOf(t *testing.T, path, run string) bool {
	t.Helper()
	data, err := os.ReadFile(r.Path(path))
	if err != nil {
		return false
	}
	var m struct {
		RunID string `json:"run_id"`
	}
	testharness.Must(t, json.Unmarshal(data, &m))
	return m.RunID == run
}

// copyTree copies a folder with the times of its files. It keeps hard links. With separateLinks it copies each link to
// a file of its own, so that damage to one does not affect the others.
func copyTree(t *testing.T, from, to string, separateLinks bool) {
	t.Helper()
	copies := map[string]fs.FileInfo{} // the originals by the path of their copy
	testharness.Must(t, filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(from, path)
		dst := filepath.Join(to, name)
		switch {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case e.IsDir():
			return os.MkdirAll(dst, 0o755)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, dst))
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		for copied, original := range copies {
			if !separateLinks && os.SameFile(info, original) {
				return os.Link(copied, dst)
			}
		}
		copies[dst] = info
		return errors.Join(copyFile(path, dst), os.Chtimes(dst, info.ModTime(), info.ModTime()))
	}))
}

// damage damages one random file, folder or link, and returns a description of the damage.
func (r *repairTrial) damage(t *testing.T, random *rand.Rand, dir string) string {
	t.Helper()
	kind := r.pathKinds[random.IntN(len(r.pathKinds))]
	name := kind.paths[random.IntN(len(kind.paths))]
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err != nil {
		return name + " was already missing"
	}
	if kind.isFolder || kind.isLink {
		testharness.Must(t, os.RemoveAll(path))
		return name + " removed"
	}
	var others []string
	for _, other := range kind.paths {
		others = append(others, filepath.Join(dir, other))
	}
	return name + damageFile(t, random, path, others, []string{"truncate", "flip", "swap", "replace", "remove"})
}

// damageFile damages a file by one of the methods, and returns a description. sameKind contains path, and may contain
// files that are missing. A file that cannot be damaged by the method is removed.
func damageFile(t *testing.T, random *rand.Rand, path string, sameKind, methods []string) string {
	t.Helper()
	info, err := os.Stat(path)
	testharness.Must(t, err)
	others := slices.DeleteFunc(slices.Clone(sameKind), func(other string) bool {
		_, err := os.Lstat(other)
		return err != nil || other == path
	})
	other := path
	if len(others) > 0 {
		other = others[random.IntN(len(others))]
	}
	switch method := methods[random.IntN(len(methods))]; {
	case method == "truncate" && info.Size() > 0:
		size := random.Int64N(info.Size())
		testharness.Must(t, os.Truncate(path, size))
		return fmt.Sprintf(" truncated to %d bytes", size)
	case method == "flip" && info.Size() > 0:
		bit := random.Int64N(info.Size() * 8)
		flipBit(t, path, bit)
		if random.IntN(2) == 0 {
			testharness.Must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		}
		return fmt.Sprintf(": bit %d flipped", bit)
	case method == "swap" && other != path:
		testharness.Must(t, errors.Join(os.Rename(path, path+"~"), os.Rename(other, path), os.Rename(path+"~", other)))
		return " swapped with " + other
	case method == "replace" && other != path:
		testharness.Must(t, copyFile(other, path))
		return " replaced by " + other
	}
	testharness.Must(t, os.Remove(path))
	return " removed"
}
