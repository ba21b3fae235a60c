package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrRefused is in the error of Config.Send when the receiver answered, and does not want
// the message as it is. Another one may be welcome: what a service writes into a finding
// must not keep the findings of others from whoever waits for them.
var ErrRefused = errors.New("refused")

// delivery sends messages, and asks a channel that cannot be reached no more: the others
// do not wait for it.
type delivery struct {
	Config
	failed map[string]error // by channel
}

// sendWaiting sends what is owed, oldest first, and records each delivery before the next.
func (d delivery) sendWaiting(ctx context.Context, name string, s *state, res *Result) error {
	problems := map[string]error{}
	for _, owed := range slices.Clone(s.Waiting) {
		for _, channel := range slices.Clone(owed.Channels) {
			if err := d.sendTo(ctx, channel, owed.Message); err != nil {
				problems[channel] = err
				continue
			}
			if s.settle(owed.Message.ID, channel) {
				res.Messages = append(res.Messages, owed.Message)
				s.Sent = d.Now().UTC()
			}
			if err := stateFile(d.Folder, name).Write(s); err != nil {
				return fmt.Errorf("record that %s was sent to %s: %w: it is sent once more", name, channel, err)
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	all := slices.Collect(maps.Values(problems))
	slices.SortFunc(all, func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
	return fmt.Errorf("send %s: %w: kept, the next night sends it again", name, errors.Join(all...))
}

// sendTo sends a message to a channel, unless that could not be reached.
func (d delivery) sendTo(ctx context.Context, channel string, m Message) error {
	if err := d.failed[channel]; err != nil {
		return err
	}
	err := ctx.Err()
	if err == nil {
		err = d.Send(ctx, channel, m)
	}
	if err != nil {
		err = fmt.Errorf("to %s: %w", channel, err)
		if !errors.Is(err, ErrRefused) {
			d.failed[channel] = err
		}
	}
	return err
}
