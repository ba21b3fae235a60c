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
	"placementsync/internal/warehouse"
)

// TestRepairsRestoreAllIntactData runs fewer combinations than TestTortureRepairs. It also removes, cuts or changes one
// to three objects of a backup, and restores the backup. All files of the other objects must be restored, and all their
// rows, closed rows and runs must be published. Then the commands that "verify" proposes must leave no damage.
func TestRepairsRestoreAllIntactData(t *testing.T) {
	t.Parallel()
	combinations := trials.Size(40, 7)
	r := newRepairTrial(t)
	inParallel(t, 2, combinations, r.runCombination)
	t.Log(r.results)
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

// TestTortureRepairs damages one or two files, folders or links of a warehouse and runs the commands that "verify"
// proposes, in the given order. If no command fails, all rows, closed rows and runs in intact files must then be
// published. The number of a combination is the seed that selects its damage.
func TestTortureRepairs(t *testing.T) {
	trials.RequireTorture(t)
	const combinations, workers = 1000, 3
	startedAt := time.Now()
	r := newRepairTrial(t)
	inParallel(t, workers, combinations, r.runCombination)
	trials.RecordTrial(t, startedAt, func() torture.Trial {
		return torture.Trial{Name: "repairs", Runs: combinations,
			Procedure: "one or two places of a warehouse are damaged: a file is removed, truncated, changed by one bit, swapped with " +
				"another file or replaced by the file of another run; a folder or a link is removed",
			Outcome: strings.Trim(fmt.Sprint(r.results), "map[]")}
	})
}

// repairTrial contains the undamaged warehouse, whose copies are damaged and repaired.
type repairTrial struct {
	*trials.Harness
	// files contains the SHA-256 sums of all files and the targets of all links, by path.
	files map[string]string
	// factsByPath contains the facts of each Parquet file, catalog and file of changes (.changes).
	factsByPath map[string]facts
	// visible are the facts in the published catalog.
	visible facts
	// visibleSums contains the checksums of the tables in the published catalog.
	visibleSums map[string]string
	// baseRuns are the newest run and the runs on which it is based, newest first. The run that
	// was rolled back is not among them.
	baseRuns []string
	// pathKinds contains the paths of each kind of files, folders and links that can be damaged.
	pathKinds [][]string

	mu sync.Mutex
	// results counts the combinations by their result.
	results map[string]int
}

// facts is a set of texts. A text identifies a row, a closed row or a run.
type facts map[string]bool

// inParallel calls run with the numbers below n, in several goroutines.
func inParallel(t *testing.T, workers, n int, run func(t *testing.T, number int)) {
	t.Helper()
	t.Run("all", func(t *testing.T) {
		for first := range workers {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				for number := first; number < n; number += workers {
					run(t, number)
				}
			})
		}
	})
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
	testharness.Must(t, trials.WithLock(h.Config, "test", func(w *warehouse.Warehouse) error {
		_, err := w.Rollback(third, h.At)
		return err
	}))
	h.GoodNight()
	h.GoodNight()
	testharness.Must(t, os.RemoveAll(h.Path("raw")))
	r := &repairTrial{Harness: h, factsByPath: map[string]facts{}, results: map[string]int{}}
	r.files = readTree(t, h.Config.Warehouse.Dir)
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
	r.visibleSums = tableSums(t, h.Path("catalog.duckdb"))
	delete(r.visibleSums, "meta.tables") // a rebuild adds rows for its own run
	r.pathKinds = r.listPathKinds()
	if len(r.visible) < 100 || len(r.baseRuns) != 5 {
		t.Fatalf("the catalog has %d facts of %d runs, want at least 100 facts of 5 runs", len(r.visible), len(r.baseRuns))
	}
	return r
}

// readTree returns the checksums of the files in a warehouse and the targets of the links. It leaves
// out files that a repair does not restore.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	return trials.SumTree(t, dir, "state/lock", "state/verified", "state/seen")
}

// readFacts returns the facts in a file. The fact of a row consists of table, key, row_hash and valid_from. A closed
// row has a second fact that also contains valid_to. The fact of a run is its id.
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
			rows := fmt.Sprintf(`(SELECT %s, past_row['valid_from']::TIMESTAMPTZ AS valid_from, past_row['valid_to']::TIMESTAMPTZ AS valid_to,
				past_row['row_hash']::UBIGINT AS row_hash FROM %s WHERE meta_table = 'past.%s')`, strings.Join(columns, ", "), source, table.Name)
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

// listPathKinds groups the files, folders and links that can be damaged by their kind.
func (r *repairTrial) listPathKinds() (pathKinds [][]string) {
	latest := r.LatestRun()
	kinds := map[string][]string{"latest": {"latest"}, "catalog link": {"catalog.duckdb"}, "all versions": {"versions"}, "all days": {"parquet"},
		"all state": {"state"}, "newest version": {"versions/" + latest}}
	add := func(kind, path string) {
		if !slices.Contains(kinds[kind], path) {
			kinds[kind] = append(kinds[kind], path)
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
			add(age+" "+base, path)
			add("version", "versions/"+parts[1])
		case parts[0] == "parquet" && strings.HasPrefix(parts[1], "."):
			kind := parts[1] + filepath.Ext(path)
			if parts[2] == "index.json" {
				kind = "index"
			}
			add(kind, path)
			add("folder "+parts[1], "parquet/"+parts[1])
		case parts[0] == "parquet":
			add("series", path)
			add("folder of a table", "parquet/"+parts[1])
			add("folder of a day", filepath.Dir(path))
		case path == "state/runs.jsonl":
			add("ledger", path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[name])
		pathKinds = append(pathKinds, kinds[name])
	}
	return pathKinds
}

// runCombination damages one or two paths in a copy of the warehouse, runs the commands that "verify" proposes, in the
// given order, until "verify" proposes none, and checks the copy. number is the seed of the random choices.
func (r *repairTrial) runCombination(t *testing.T, number int) {
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
	got := facts{}
	if _, err := os.Stat(filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb")); err == nil && effect.problem == "" {
		db := trials.OpenUnmanaged(t, "?threads=1")
		defer db.Close()
		got = r.readFacts(t, db, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"), "catalog.duckdb")
	}
	if effect.refused {
		// A refused repair must keep the data, but need not publish it.
		maps.Copy(got, r.intactFacts(t, cfg.Warehouse.Dir))
	}
	result := "complete"
	lost := missingFacts(got, intact)
	switch {
	case effect.problem != "":
	case len(lost) > 0:
		effect.problem = fmt.Sprintf("%d of %d facts of intact files are missing: %v", len(lost), len(intact), lost[:min(4, len(lost))])
	case effect.refused && len(unrecoverable) == 0:
		effect.problem = "the repair was refused, although intact files contain all data"
	case effect.refused:
		result = "refused with all files kept"
	case len(unrecoverable) > 0 && !effect.reported:
		effect.problem = fmt.Sprintf("%d facts are lost and verify reported no loss: %v", len(unrecoverable), unrecoverable[:min(4, len(unrecoverable))])
	case len(unrecoverable) > 0:
		result = "reported loss"
	case !r.sameContent(t, cfg.Warehouse.Dir):
		effect.problem = "the values differ from the values before the damage"
	}
	if effect.problem != "" {
		t.Errorf("combination %d: %s: %s\n%s", number, description, effect.problem, effect.output)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[result]++
}

// repairEffect is the effect of the commands that "verify" proposed.
type repairEffect struct {
	// reported means that "verify" reported a loss.
	reported bool
	// refused means that a command failed, or that the proposed repairs have no effect or do not end.
	refused bool
	// problem is set if "verify" failed, or if "verify" or a command reported something false.
	problem string
	// output is the output of "verify" and the commands.
	output string
}

// repairAll runs the commands that "verify" proposes, in the given order, until "verify" proposes no command.
func (r *repairTrial) repairAll(t *testing.T, cfg pipeline.Config) (effect repairEffect) {
	t.Helper()
	const maxRounds = 6
	before := readTree(t, cfg.Warehouse.Dir)
	for round := range maxRounds {
		v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
		if err != nil || round == 0 && len(v.Damage) == 0 && r.damageMustBeReported(before) {
			effect.problem = fmt.Sprintf("verify found no damage: %v", err)
			return effect
		}
		for _, d := range v.Damage {
			effect.output += fmt.Sprintf("  %d: %s: %s: %s (lost %v)\n", round, d.File, d.Problem, d.Repair.Command(), d.Lost)
		}
		effect.reported = effect.reported || v.Result() == repair.DataLost
		plan := repair.Plan(v.Damage)
		if len(plan) == 0 {
			return effect
		}
		beforePlan := before
		for _, step := range plan {
			err := r.run(t, cfg, step)
			effect.output += fmt.Sprintf("  %d: %s: %v\n", round, step.Command(), err)
			after := readTree(t, cfg.Warehouse.Dir)
			if err != nil {
				effect.refused = true
				if strings.Contains(err.Error(), "nothing was changed") && !maps.Equal(before, after) {
					effect.problem = step.Command() + ": the error is false: " + err.Error()
				}
				return effect
			}
			before = after
		}
		if maps.Equal(beforePlan, before) {
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
	got := tableSums(t, filepath.Join(dir, "catalog.duckdb"))
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
	files := readTree(t, dir)
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

// isManifestOf reports whether the manifest at path belongs to a run. It reads the undamaged warehouse.
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
	return damageOneOf(t, random, dir, r.pathKinds[random.IntN(len(r.pathKinds))])
}

// damageOneOf damages one of the files, folders or links of a kind. A file that cannot be damaged by the chosen method is
// removed, as folders and links are.
func damageOneOf(t *testing.T, random *rand.Rand, dir string, paths []string) string {
	t.Helper()
	name := paths[random.IntN(len(paths))]
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return name + " was already missing"
	}
	var others []string
	for _, other := range paths {
		if _, err := os.Lstat(filepath.Join(dir, other)); err == nil && other != name {
			others = append(others, filepath.Join(dir, other))
		}
	}
	method := []string{"truncate", "flip", "swap", "replace", "remove"}[random.IntN(5)]
	switch isFile := info.Mode().IsRegular() && info.Size() > 0; {
	case method == "truncate" && isFile:
		size := random.Int64N(info.Size())
		testharness.Must(t, os.Truncate(path, size))
		return fmt.Sprintf("%s truncated to %d bytes", name, size)
	case method == "flip" && isFile:
		data, err := os.ReadFile(path)
		testharness.Must(t, err)
		bit := random.IntN(len(data) * 8)
		data[bit/8] ^= 1 << (bit % 8)
		testharness.Must(t, os.WriteFile(path, data, 0o600))
		if random.IntN(2) == 0 {
			testharness.Must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		}
		return fmt.Sprintf("%s: bit %d flipped", name, bit)
	case method == "swap" && isFile && len(others) > 0:
		other := others[random.IntN(len(others))]
		testharness.Must(t, errors.Join(os.Rename(path, path+"~"), os.Rename(other, path), os.Rename(path+"~", other)))
		return name + " swapped with " + other
	case method == "replace" && isFile && len(others) > 0:
		other := others[random.IntN(len(others))]
		testharness.Must(t, copyFile(other, path))
		return name + " replaced by " + other
	}
	testharness.Must(t, os.RemoveAll(path))
	return name + " removed"
}
