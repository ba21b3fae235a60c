package repair

import (
	"fmt"
	"os"
	"slices"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// PrepareReplay returns the version on which a run was built, or an error if the run cannot be replayed. Without
// acceptLoss, it also returns an error if stored responses of the run are missing or damaged: the replay would publish
// fewer rows than the service sent. The caller must hold the lock of the warehouse.
func PrepareReplay(wh *warehouse.Warehouse, run string, acceptLoss bool) (base string, err error) {
	if err := wh.CheckLink(); err != nil {
		return "", err
	}
	base, err = replayBase(wh, run)
	if err != nil || acceptLoss {
		return base, err
	}
	runs, err := wh.RunLog.Runs()
	if err != nil {
		return "", err
	}
	replayed := lineOf(runs, run)
	problem, _ := lostResponses(wh, replayed)
	if problem == "" {
		return base, nil
	}
	instead := "run placementsync run, which reads the service"
	if replayed.IsPublished() {
		instead = "run placementsync rebuild, which builds the catalog from Parquet"
	}
	return "", fmt.Errorf("replay %s: %s; nothing was changed: %s, or publish the night without these responses: placementsync replay --accept-loss %[1]s", run, problem, instead)
}

// ReplayTime returns the snapshot time of a run with stored responses. The ledger contains the time in full precision,
// the run id only in seconds.
func ReplayTime(wh *warehouse.Warehouse, run string) (at time.Time, err error) {
	at, isRunID := warehouse.RunTime(run)
	runs, err := wh.RunLog.Runs()
	if err != nil {
		return at, err
	}
	i := slices.IndexFunc(runs, func(r ledger.Run) bool { return r.ID == run })
	_, statErr := os.Stat(wh.Folder.RawPath(run))
	isUnneeded, err := wh.Pruner.AreResponsesUnneeded(run)
	switch {
	case err != nil:
		return at, err
	case isUnneeded || i >= 0 && (statErr != nil || !isRunID):
		return at, fmt.Errorf("replay %s: its stored responses were removed, because its night was published (privacy.raw: discard) "+
			"or because they are older than retention.raw_days; nothing was changed: placementsync rebuild builds the catalog from Parquet instead", run)
	case statErr != nil || !isRunID:
		return at, &ledger.UnknownRunError{Message: fmt.Sprintf("replay %q: this run has no stored responses; nothing was changed: placementsync runs lists the runs", run)}
	case i < 0:
		return at, nil
	case !runs[i].IsNight():
		return at, fmt.Errorf("replay %s: this run is a refresh and has only a few responses; nothing was changed: replay a night", run)
	}
	return runs[i].StartedAt, nil
}

func replayBase(wh *warehouse.Warehouse, run string) (string, error) {
	versions, err := wh.Versions.List()
	if err != nil {
		return "", err
	}
	latest, _, err := wh.Versions.Latest()
	if err != nil {
		return "", err
	}
	// A damaged version does not count: its responses are its only intact copy.
	isKept := wh.Versions.VerifyCatalog(run) == nil
	if !isKept && run > latest {
		return latest, nil
	}
	if run != latest {
		return "", replayRefusal(wh, run, latest, versions, isKept)
	}
	m, err := wh.Versions.ReadManifest(run)
	if err != nil {
		return "", replayRefusal(wh, run, latest, versions, isKept)
	}
	if m.Previous != "" && !slices.Contains(versions, m.Previous) {
		return "", fmt.Errorf("replay %s: version %s, on which this run is based, is no longer kept; nothing was changed: placementsync rebuild builds the catalog from Parquet instead", run, m.Previous)
	}
	return m.Previous, nil
}

// replayRefusal returns an error that names the version to which a rollback must switch first. isKept means that
// the version of the run is kept and intact.
func replayRefusal(wh *warehouse.Warehouse, run, latest string, versions []string, isKept bool) error {
	const orRebuild = "or build the catalog without the responses: placementsync rebuild"
	if isKept {
		return fmt.Errorf("replay %s: readers see %s, not this run; nothing was changed: run placementsync rollback %[1]s first, %[3]s", run, latest, orRebuild)
	}
	problem := "readers see " + latest + ", which is later"
	if run == latest {
		problem = "the manifest of its version is damaged"
	}
	for _, version := range slices.Backward(versions) {
		if version < run && wh.Versions.VerifyCatalog(version) == nil {
			return fmt.Errorf("replay %s: %s; nothing was changed: run placementsync rollback %s first, %s", run, problem, version, orRebuild)
		}
	}
	return fmt.Errorf("replay %s: %s, and no intact version from before this run is kept; nothing was changed: placementsync rebuild builds the catalog without the responses", run, problem)
}
