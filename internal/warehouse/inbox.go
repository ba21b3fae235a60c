package warehouse

import (
	"os"
)

// InboxPath is the folder in which webhook deliveries wait for the next night.
func (w *Warehouse) InboxPath() string { return w.path(stateDir, "inbox") }

// MakeInbox makes the folder of InboxPath and returns it.
func (w *Warehouse) MakeInbox() (string, error) {
	if err := w.makeFolders(); err != nil {
		return "", err
	}
	return w.InboxPath(), os.MkdirAll(w.InboxPath(), privateDir)
}

// LandedEvents is the folder of the deliveries that a run took from the inbox.
func (w *Warehouse) LandedEvents(run string) string { return w.path(rawDir, run, "webhooks") }

// Landed lists the runs that have landed answers, oldest first.
func (w *Warehouse) Landed() ([]string, error) { return folders(w.path(rawDir)) }
