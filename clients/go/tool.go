package thinkd

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// A Tool is a function that models can call.
type Tool struct {
	Name        string
	Description string
	InputSchema map[string]any // a JSON Schema of the arguments

	// Run runs a call. The text is the result for the model; with an error, its text is the result, and marked as an error. ctx ends with the
	// client.
	Run func(ctx context.Context, arguments json.RawMessage) (string, error)
}

func offersOf(tools []Tool) (offers []NewTool) {
	for _, t := range tools {
		offers = append(offers, NewTool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return offers
}

// serveOpen takes up the calls and questions that are open after a lost connection.
func (s *Session) serveOpen(state SessionAttachResult) {
	if state.Open == nil {
		return
	}
	for _, call := range state.Open.Tools {
		s.run(call.CallID, call.Name, string(call.Host), call.Arguments)
	}
	for _, question := range state.Open.Confirms {
		s.decide(question)
	}
}

// first reports whether a call or a question is new.
func (s *Session) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.handled[id]
	s.handled[id] = true
	return !known
}

// run runs a call of one of our tools. A lost response is no reason to run it again: only the result is sent again, and the daemon refuses
// the second one.
func (s *Session) run(callID, name, host string, arguments json.RawMessage) {
	at := slices.IndexFunc(s.follow.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 || host != "client" || !s.first(callID) {
		return
	}
	s.client.running.Go(func() { // ends with the client's context
		text, err := s.follow.Tools[at].Run(s.client.ctx, arguments)
		if err != nil {
			text = err.Error()
		}
		params := ToolResultParams{SessionID: s.ID, CallID: callID, Content: []Block{{Type: "text", Text: text}}, IsError: To(err != nil)}
		for {
			if _, err := s.client.ToolResult(s.client.ctx, params); !errors.Is(err, ErrLost) {
				return // an error says that the turn has ended, or the client
			}
		}
	})
}

// decide answers a question, if this client answers any. The answer is sent until its response arrives: the first one counts.
func (s *Session) decide(question Confirm) {
	if s.follow.Approve == nil || !s.first(question.ConfirmID) {
		return
	}
	s.client.running.Go(func() { // ends with the client's context
		action := s.follow.Approve(s.client.ctx, question)
		params := ConfirmAnswerParams{SessionID: s.ID, ConfirmID: question.ConfirmID, Action: action}
		for {
			if _, err := s.client.ConfirmAnswer(s.client.ctx, params); !errors.Is(err, ErrLost) {
				return // an error says that nobody asks any more, or that the client is closed
			}
		}
	})
}
