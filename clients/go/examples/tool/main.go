// Runs a tool of its own, after its user has approved the call. Usage: tool THINKD QUESTION
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	thinkd "github.com/thinkd/thinkd/clients/go"
)

func main() {
	if err := host(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

var lookup = thinkd.Tool{
	Name: "lookup", Description: "Looks up a word.",
	InputSchema: map[string]any{"type": "object", "properties": map[string]any{"word": map[string]any{"type": "string"}}, "required": []string{"word"}},
	Run: func(_ context.Context, arguments json.RawMessage) (string, error) {
		var call struct{ Word string }
		if err := json.Unmarshal(arguments, &call); err != nil {
			return "", err
		}
		fmt.Println("lookup", call.Word)
		return call.Word + ": 2026-03-01", nil
	},
}

func approve(_ context.Context, question thinkd.Confirm) thinkd.ConfirmAction {
	fmt.Print(question.Message)
	for _, part := range question.Parts {
		fmt.Print(" ", part.Name, " ", part.Text)
	}
	fmt.Println()
	return thinkd.ConfirmActionAllow // a real client asks its user, and shows all parts
}

func host(ctx context.Context, program, question string) error {
	client, err := thinkd.Connect(ctx, thinkd.Stdio(append(strings.Fields(program), "stdio")...), thinkd.Settings{})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession(ctx, thinkd.SessionNewParams{ToolPolicy: &thinkd.ToolPolicy{Names: map[string]thinkd.ToolRule{"lookup": "ask"}}},
		thinkd.Follow{Tools: []thinkd.Tool{lookup}, Approve: approve})
	if err != nil {
		return err
	}
	turn, err := session.Say(ctx, question)
	if err != nil {
		return err
	}
	for event, err := range turn.Events(ctx) {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case *thinkd.ToolEndEvent:
			fmt.Println("result", e.Content[0].Text)
		case *thinkd.TurnEndEvent:
			fmt.Println(e.StopReason)
		}
	}
	return nil
}
