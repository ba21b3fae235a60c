package pipeline

import (
	"context"
	"errors"
	"slices"

	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// A gate stops what looks like a mass deletion, since a service that answers with
// half of its records shows the same. Before it decides, whatever shows the loss
// is read a second time in the same run: answers that landed before are not
// believed again, neither now nor by --allow-mass-delete.

// readUntilBelieved reads and publishes, and reads again what a gate doubts.
func (n *night) readUntilBelieved(ctx context.Context) (Result, error) {
	for {
		res, err := n.readAndPublish(ctx)
		loss, stopped := errors.AsType[*load.MassDeleteError](err)
		if !stopped {
			return res, err
		}
		again := n.streamsOf(loss)
		if len(again) == 0 || n.cfg.Fetch.Offline {
			n.run.Losses, loss.Reread = loss.Losses, !n.cfg.Fetch.Offline
			return res, err
		}
		n.cfg.Log.Warn("lists are read again before a gate decides", "streams", again, "cause", loss)
		n.readAgain(again)
	}
}

// streamsOf lists the streams that show a loss and were not read a second time.
// When all of one table's were, reading others would not change its verdict.
func (n *night) streamsOf(loss *load.MassDeleteError) []string {
	var again []string
	for _, l := range loss.Losses {
		doubted := n.readOnce(l.Table)
		if len(doubted) == 0 {
			return nil
		}
		again = append(again, doubted...)
	}
	return again
}

// readOnce lists the streams of a table that were read tonight and not a second time.
func (n *night) readOnce(table string) []string {
	return slices.DeleteFunc(stream.Feeding(n.cfg.Streams, table), func(name string) bool {
		return !n.wasRead(name) || n.reread[name]
	})
}

// readAgain forgets what this attempt read. Streams that no gate doubts are
// answered from the landing.
func (n *night) readAgain(streams []string) {
	if n.reread == nil {
		n.reread = map[string]bool{}
	}
	for _, name := range streams {
		n.reread[name] = true
		n.client.Refetch(name)
	}
	n.done, n.drift, n.eventSinks = nil, newDrift(), nil
}

// limits are the gates as far as the night has come: a loss is believed when the
// operator says so and everything that shows it was read a second time.
func (n *night) limits() load.Limits {
	limits := n.cfg.Limits
	limits.Believe = func(table string) bool {
		return n.cfg.AllowMassDelete && (n.cfg.Fetch.Offline || len(n.readOnce(table)) == 0)
	}
	return limits
}
