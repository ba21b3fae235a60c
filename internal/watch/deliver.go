package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrRefused is wrapped by the error of Config.Send if the receiver rejected the message, for example
// because of a value in it. The receiver may accept other messages, so later messages are still sent.
var ErrRefused = errors.New("refused")

// runner runs watches one after the other. It sends no more messages to a channel that could not be
// reached, so that messages to other channels need not wait for timeouts.
type runner struct {
	Config
	unreachable map[string]error // by channel
}

// sendPending records each delivery before it sends the next message.
func (r runner) sendPending(ctx context.Context, name string, s *state, res *Result) error {
	channelErrs := map[string]error{}
	for _, pending := range slices.Clone(s.Pending) {
		for _, channel := range slices.Clone(pending.Channels) {
			if err := r.sendTo(ctx, channel, pending.Message); err != nil {
				channelErrs[channel] = err
				continue
			}
			pendingBefore := len(s.Pending)
			s.removeChannels(func(m Message, c string) bool { return m.ID == pending.Message.ID && c == channel })
			if len(s.Pending) < pendingBefore {
				res.Messages = append(res.Messages, pending.Message)
				s.Sent = r.Now().UTC()
			}
			if err := stateFile(r.Folder, name).Write(s); err != nil {
				return fmt.Errorf("write the state of the watch %s after its message was sent to %s: %w; the message will be sent once more", name, channel, err)
			}
		}
	}
	if len(channelErrs) == 0 {
		return nil
	}
	errs := slices.SortedFunc(maps.Values(channelErrs), func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
	return fmt.Errorf("send the message of the watch %s: %w; the message is kept, and the next night or placementsync watch sends it", name, errors.Join(errs...))
}

func (r runner) sendTo(ctx context.Context, channel string, m Message) error {
	if err := r.unreachable[channel]; err != nil {
		return err
	}
	err := ctx.Err()
	if err == nil {
		err = r.Send(ctx, channel, m)
	}
	if err != nil {
		err = fmt.Errorf("to %s: %w", channel, err)
		if !errors.Is(err, ErrRefused) {
			r.unreachable[channel] = err
		}
	}
	return err
}
