package exchange

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Limits on output, in tokens.
const (
	leastOutput = 1_024 // less is of no use: the conversation has to become shorter
	plainOutput = 8_192 // what a host takes that refused more and named no number
)

// StripSampling clears the parameters of sampling that are set, and returns their names. The pointer to a parameter that the API
// does not have, or that may stay, is nil.
func StripSampling(temperature, topP **float64, topK **int) (names []string) {
	if temperature != nil && *temperature != nil {
		*temperature, names = nil, append(names, "temperature")
	}
	if topP != nil && *topP != nil {
		*topP, names = nil, append(names, "top_p")
	}
	if topK != nil && *topK != nil {
		*topK, names = nil, append(names, "top_k")
	}
	return names
}

// Fit lowers a limit on output to what the model and its window leave: window − input − margin. The margin is 5 % of the
// window where the vendor has counted the input, and 15 % where it is estimated. Where nothing is left, the vendor says
// so. 0 stays 0: the host has a limit of its own.
func (c *Caller) Fit(req *provider.Request, most int) int {
	known := c.limits.of(req.Model.ID)
	if most == 0 {
		return 0
	}
	most = lower(most, known.Output)
	window := lower(req.Model.Window, known.Window)
	if window == 0 || req.Input == 0 {
		return most
	}
	share := 15
	if req.Counted {
		share = 5
	}
	room := window - req.Input - max(leastOutput, window*share/100)
	return min(most, max(room, leastOutput))
}

// Lower says how to make a call again that was refused for its limit on output, which was sent: with the request that
// it returns, once. Nil: a lower limit does not help.
func (c *Caller) Lower(err error, req *provider.Request, sent int) *provider.Request {
	e, ok := err.(*provider.Error)
	if !ok || sent == 0 || e.Status < 400 || e.Kind != provider.KindTooLong && e.Kind != provider.KindBadRequest {
		return nil
	}
	room := refusal.RoomOf(e.Message, sent)
	again := *req
	switch text := strings.ToLower(e.Message); {
	case room.Output > 0 && room.Output < sent:
		c.limits.learn(req.Model.ID, refusal.Room{Output: room.Output})
	case room.Window > 0 && room.Input > 0:
		c.limits.learn(req.Model.ID, refusal.Room{Window: room.Window})
		again.Input, again.Counted = room.Input, true
		if room.Window-room.Input-max(leastOutput, room.Window*5/100) < leastOutput {
			return nil
		}
	case sent > plainOutput && (strings.Contains(text, "messages or completion") || strings.Contains(text, "max_tokens参数")):
		c.limits.learn(req.Model.ID, refusal.Room{Output: plainOutput})
	default:
		return nil
	}
	return &again
}

// lowered reports that the limit on output of a model is not what it was at first. Its Data is what was [provider.Learned].
func (c *Caller) lowered(model string, from, to int) provider.Notice {
	known := c.limits.of(model)
	if known.Output == plainOutput {
		known.Output = 0 // our number, not the host's
	}
	data, err := json.Marshal(provider.Learned{Window: known.Window, MaxOutput: known.Output})
	if err != nil {
		data = nil // two numbers
	}
	return provider.Notice{Kind: provider.NoticeOverride, Text: fmt.Sprintf("the limit on output was lowered from %d to %d tokens: the provider refused more", from, to), Data: data}
}

// near reports whether a request is about as long as the model's window, so that a refusal without a reason has this one.
func near(r *provider.Request, percent int) bool {
	return r.Model.Window > 0 && r.Input > 0 && r.Input >= r.Model.Window/100*percent
}

// overflow recognises refusals that do not say that the request is too long: an answer of 400 without a text (Cerebras),
// and one whose text names nothing, close to the window, which is smaller than its host says.
func overflow(r *provider.Request, err error) error {
	e, ok := err.(*provider.Error)
	if !ok || e.Status != 400 || e.Kind != provider.KindBadRequest || e.Repair != "" {
		return err
	}
	if e.Bare && near(r, 66) || e.Subject == provider.SubjectUnknown && near(r, 90) {
		e.Kind, e.Subject = provider.KindTooLong, provider.SubjectSize
	}
	return e
}

// silent recognises an end that means that the window was full: the limit on output was reached without any, and the
// input fills the window or is more than it.
func silent(r *provider.Request, s provider.Stop) error {
	window := r.Model.Window
	used := s.Usage.Input
	if used == 0 {
		used = r.Input
	}
	full := window > 0 && (used >= window-window/100 || used > window)
	if !full || s.Reason != provider.StopMaxTokens && (s.Reason != provider.StopEndTurn || s.Usage.Input <= window) {
		return nil
	}
	return &provider.Error{API: r.Model.API, Provider: r.Model.Provider, Kind: provider.KindTooLong, Status: 200, Subject: provider.SubjectSize, RequestID: s.RequestID,
		Message: fmt.Sprintf("the model wrote nothing: %d tokens of input fill its window of %d", used, window)}
}
