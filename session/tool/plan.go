package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// PlanTool is the name of the built-in tool with which models write plans.
const PlanTool = "todo"

// Bounds of a plan.
const (
	MaxPlanItems = 100
	MaxPlanText  = 500 // characters of an item
)

// PlanItem is a step of a plan.
type PlanItem struct {
	Content  string       `json:"content"`
	Status   PlanStatus   `json:"status"`
	Priority PlanPriority `json:"priority"`
}

// PlanStatus says how far a step is.
type PlanStatus string

const (
	PlanPending   PlanStatus = "pending"
	PlanRunning   PlanStatus = "in_progress"
	PlanCompleted PlanStatus = "completed"
)

// Words lists all of them.
func (PlanStatus) Words() []string {
	return []string{string(PlanPending), string(PlanRunning), string(PlanCompleted)}
}

// PlanPriority says how important a step is.
type PlanPriority string

const (
	PlanHigh   PlanPriority = "high"
	PlanMedium PlanPriority = "medium" // if the model states none
	PlanLow    PlanPriority = "low"
)

// Words lists all of them.
func (PlanPriority) Words() []string {
	return []string{string(PlanHigh), string(PlanMedium), string(PlanLow)}
}

// ReadPlan reads the arguments of a call of PlanTool. The errors are for the model.
func ReadPlan(input json.RawMessage) ([]PlanItem, error) {
	var p struct {
		Items []PlanItem `json:"items"`
	}
	if err := json.Unmarshal(input, &p); err != nil {
		return nil, fmt.Errorf("the arguments do not fit: %w", err)
	}
	if len(p.Items) > MaxPlanItems {
		return nil, fmt.Errorf("a plan has at most %d items", MaxPlanItems)
	}
	for i := range p.Items {
		item := &p.Items[i]
		item.Content = strings.Join(strings.Fields(item.Content), " ")
		if item.Priority == "" {
			item.Priority = PlanMedium
		}
		switch {
		case item.Content == "":
			return nil, fmt.Errorf("item %d has no content", i+1)
		case utf8.RuneCountInString(item.Content) > MaxPlanText:
			return nil, fmt.Errorf("the content of item %d is longer than %d characters", i+1, MaxPlanText)
		case item.Status != PlanPending && item.Status != PlanRunning && item.Status != PlanCompleted:
			return nil, fmt.Errorf("the status of item %d must be %s", i+1, strings.Join(item.Status.Words(), ", "))
		case item.Priority != PlanHigh && item.Priority != PlanMedium && item.Priority != PlanLow:
			return nil, fmt.Errorf("the priority of item %d must be %s", i+1, strings.Join(item.Priority.Words(), ", "))
		}
	}
	return p.Items, nil
}
