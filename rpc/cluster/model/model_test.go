package model

import (
	"flag"
	"testing"
)

var wider = flag.Bool("wider", false, "TestNoHarm: scenarios with more faults, prompts and messages; they take minutes")

// TestNoHarm explores all scenarios with the rules of the cluster.
func TestNoHarm(t *testing.T) {
	for _, scenario := range Scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			if *wider {
				scenario = scenario.Wider()
			}
			report := Check(scenario, AllRules, "")
			if report.Broken != "" {
				t.Errorf("\n%s", report)
			}
			t.Log(report)
		})
	}
}

// TestEachRuleIsNeeded turns each rule off alone. The check must find the harm that the rule prevents. With -v it prints how that comes
// about, by the smallest number of steps.
func TestEachRuleIsNeeded(t *testing.T) {
	tested := make(map[Rule]bool)
	for _, c := range []struct {
		off      Rule
		scenario Scenario
		harm     Harm
	}{
		{CompareAndAppend, contact, TwoWriters},
		{CompareAndAppend, pause, RunsTwice},
		{SilenceIsGone, pause, Closed},
		{MajorityJudges, contact, Evicted},
		{ClaimWrites, contact, OldView},
		{ClaimWrites, givenUp, FencedByNobody},
		{NumbersByEpoch, numbers, NumberTwice},
		{NotMineReleases, idleDrain, Closed},
		{ClaimCounts, idleDrain, Evicted},
		{QueueRunsAfterMove, busyDrain, Stranded},
		{TakeOver, busyDrain, Stranded},
		{StandStill, numbers, NumberTwice},
		{MarkerFirst, answers, Stranded},
		{MarkerOfIncarnation, restart, Stranded},
		{MarkerOfOwn, givenUp, Stranded},
		{MarkerBySequence, lateRemoval, Stranded},
		{SweepRepeats, restart, Stranded},
		{EveryRankSweeps, ranks, Stranded},
		{Tombstone, deletion, Returns},
		{OwnerDeletes, deletion, DeletesUnseen},
		{TombstoneOutlives, deletion, Returns},
		{ConflictIsUnknown, answers, FencedByNobody},
		{DoubtIsUnknown, answers, ToldWrong},
		{CompareStored, loss, LossUnnoticed},
		{CompareStored, lateLoss, LossUnnoticed},
		{StartInTime, pause, LateTool},
		{ConfirmLoaded, pause, OldView},
		{ConfirmByAppend, contact, OldView},
		{TakenIsRead, taken, FencedByNobody},
	} {
		tested[c.off] = true
		t.Run(c.off.String()+" "+c.scenario.Name, func(t *testing.T) {
			report := Check(c.scenario, AllRules.Without(c.off), c.harm)
			if report.Broken != c.harm {
				t.Errorf("the check does not find %q", c.harm)
			}
			t.Logf("after %d states:\n%s", report.States, report)
		})
	}
	for rule := range numRules {
		if !tested[rule] {
			t.Errorf("%s has no test", rule)
		}
	}
}
