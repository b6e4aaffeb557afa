package core

import (
	"fmt"
	"slices"
)

// lifecycle is the table of transitions of an enum: the states that may follow each state.
type lifecycle[S ~uint8] [][]S

// move changes a state. It panics if the table does not have the transition.
func (l lifecycle[S]) move(state *S, to S) {
	if !slices.Contains(l[*state], to) {
		panic(fmt.Sprintf("chat: got a transition of %T from %d to %d, want one of its table", to, *state, to))
	}
	*state = to
}

// The life cycles of sessions, subscriptions and tasks. Each enum says what its states mean.
var (
	ownershipLife = lifecycle[ownership]{
		ownedByServe:     {ownedByTask},
		ownedByTask:      {ownedByServe, closedDuringTask},
		closedDuringTask: {},
	}
	livenessLife = lifecycle[liveness]{
		registering:    {justRegistered, pinged, responsive}, // the latter two by a handover
		justRegistered: {responsive, pinged},
		responsive:     {pinged},
		pinged:         {responsive},
	}
	subscriptionLife = lifecycle[subscriptionState]{
		catchingUp:   {live, unsubscribed},
		live:         {unsubscribed},
		unsubscribed: {},
	}
	taskLife = lifecycle[taskState]{
		taskNew:       {taskRuns},
		taskRuns:      {taskAwaitsJob, taskPaused, taskDone},
		taskAwaitsJob: {taskRuns, taskDone},
		taskPaused:    {taskReady, taskDone},
		taskReady:     {taskRuns, taskDone},
		taskDone:      {},
	}
)
