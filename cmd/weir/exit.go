package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"weir/internal/listening"
	"weir/internal/printable"
	"weir/lab/subject"
)

// Exit statuses of every command. A command that a second signal stops exits with 128 and the
// signal's number.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2   // the command line is wrong
	exitNothing     = 3   // the measurement was carried out, and has no answer
	exitInterrupted = 130 // SIGINT or SIGTERM before the work was done
)

// usageError is a mistake in the command line that was found after the flags were parsed.
type usageError struct{ error }

// Unwrap returns the mistake.
func (u usageError) Unwrap() error { return u.error }

// nothingError is a run or a check that finished and has no result.
type nothingError struct{ error }

// exitCode prints err on standard error and returns the exit status of the process.
func exitCode(ctx context.Context, err error) int { return reportExit(ctx, os.Stderr, err) }

func reportExit(ctx context.Context, w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	if second, ok := errors.AsType[*signalled](err); ok {
		writeLines(w, err.Error())
		return 128 + int(second.signal)
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	if ctx.Err() != nil {
		writeLines(w, interruptedText(err))
		return exitInterrupted
	}
	writeLines(w, err.Error())
	if isUsage(err) {
		return exitUsage
	}
	if _, ok := errors.AsType[nothingError](err); ok {
		return exitNothing
	}
	return exitFailed
}

// writeLines writes a message. Each line of it, such as each of several joined errors, begins with
// the program's name, so that it can be distinguished from output of other programs. It may quote
// what a server or a tool said.
func writeLines(w io.Writer, text string) {
	for line := range strings.Lines(printable.Lines(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			fmt.Fprintln(w, "weir:", line)
		}
	}
}

// isUsage reports whether err is a mistake in the command line.
func isUsage(err error) bool {
	_, ours := errors.AsType[usageError](err)
	_, unknown := errors.AsType[*subject.UnknownError](err)
	return ours || unknown || errors.Is(err, listening.ErrMalformed)
}

// interruptedText returns the message of a command that a signal interrupted: err without the
// texts by which Go's packages say that a context was canceled.
func interruptedText(err error) string {
	var rest []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		short := line
		for _, canceled := range []string{context.Canceled.Error(), "operation was canceled"} {
			short = strings.TrimSuffix(short, canceled)
		}
		if short != line {
			// what is left of "lab: context canceled" is the name of a package
			if short = strings.TrimRight(short, ": "); !strings.Contains(short, " ") {
				continue
			}
		}
		if short != "" {
			rest = append(rest, short)
		}
	}
	if len(rest) == 0 {
		return "interrupted"
	}
	return "interrupted: " + strings.Join(rest, "\n")
}

// status is an exit status with its meaning.
type status struct {
	code    int
	meaning string
}

// usualStatuses are those of a command that statusesOf does not name.
var usualStatuses = []status{
	{exitDone, "done"},
	{exitFailed, "it could not be done"},
	{exitUsage, "the command line is wrong"},
	{exitInterrupted, "interrupted by Ctrl-C (SIGINT) or SIGTERM"},
}

// serverStatuses are those of a command that runs until a signal stops it.
var serverStatuses = []status{
	{exitDone, "stopped by Ctrl-C (SIGINT) or SIGTERM"},
	{exitFailed, "it could not be done"},
	{exitUsage, "the command line or the configuration is wrong"},
	{exitInterrupted, "interrupted before it was serving, or with work unfinished; also after a second Ctrl-C"},
	{143, "stopped at once by a second signal, SIGTERM"},
}

var loadStatuses = []status{
	{exitDone, "the load was sent, and every answer was right"},
	{exitFailed, "it could not be sent, or there were errors"},
}

// statusMeanings replaces usual meanings, by command.
var statusMeanings = map[string][]status{
	"lab run": {
		{exitDone, "the run is complete, and its report is written"},
		{exitFailed, "it could not be run, or a subject failed and has no valid trial"},
		{exitUsage, "the command line is wrong: an unknown flag, experiment or subject, a value out of range"},
		{exitNothing, "every trial was rejected: the run answers nothing"},
		{exitInterrupted, "interrupted: what was measured is kept, --resume goes on"},
	},
	"lab gate": {
		{exitDone, "HEAD is no worse than BASE, or the baseline is written"},
		{exitFailed, "HEAD is worse by more than the margin, or a version could not be built or run"},
		{exitUsage, "the command line is wrong"},
		{exitNothing, "undecided: the budget is used up, or the A/A control differs"},
		{exitInterrupted, "interrupted: nothing is left behind"},
	},
	"lab build": {{exitFailed, "a subject could not be built; one whose tools are missing is skipped"}},
	"lab check": {
		{exitDone, "each subject that was checked keeps the contract"},
		{exitFailed, "a subject does not keep the contract, or it could not be checked"},
		{exitNothing, "nothing was checked"},
	},
	"lab compare": {
		{exitDone, "no subject used more CPU per message in DIR_B"},
		{exitFailed, "a subject used more CPU in DIR_B, or the runs cannot be compared"},
		{exitNothing, "none did, and for some it is undecided"},
	},
	"lab agent": {
		{exitDone, "the coordinator has closed"},
		{exitFailed, "it could not connect, was refused, or lost the connection"},
		{exitUsage, "the command line is wrong"},
		{exitInterrupted, "interrupted: its load has ended"},
	},
	"lab measure":    {{exitFailed, "the command could not be run, or ended with an error of its own"}},
	"load stream":    loadStatuses,
	"load http":      {loadStatuses[0], {exitFailed, "it could not be sent, or requests failed (with --ramp and --knee they may)"}},
	"load stack":     loadStatuses,
	"load chat":      loadStatuses,
	"serve run":      serverStatuses,
	"serve check":    {{exitDone, "the site file is right"}, {exitFailed, "it is not, or it could not be read"}},
	"stack up":       serverStatuses,
	"stack ping":     {{exitDone, "at least one ping was answered"}, {exitFailed, "none was, or it could not be done"}},
	"stack get":      {{exitDone, "the answer is complete"}, {exitFailed, "it is not, or its status is 400 or more"}},
	"stack nc":       {{exitDone, "both ends closed the connection"}, {exitFailed, "it could not be made, or broke"}},
	"stack dns":      {{exitDone, "there are such records"}, {exitFailed, "there are none, or it could not be done"}},
	"stack netstat":  {{exitInterrupted, "interrupted; Ctrl-C ends --watch with 0"}},
	"chat serve":     serverStatuses,
	"chat upgrade":   {{exitDone, "another process serves now"}, {exitFailed, "the old process goes on, or there is none"}},
	"chat connect":   {{exitDone, "you quit"}, {exitFailed, "it could not be done, or the server refused"}},
	"chat log check": {{exitDone, "no fault was found"}, {exitFailed, "a fault was found, or it could not be done"}},
	"vet":            {{exitDone, "nothing was found"}, {exitFailed, "something was found, or it could not be done"}},
}

// statusesOf returns the exit statuses of a command ("lab run") in the order of their numbers.
func statusesOf(command string) []status {
	own := statusMeanings[command]
	var all []status
	for _, code := range []int{exitDone, exitFailed, exitUsage, exitNothing, exitInterrupted, 143} {
		if meaning := meaningOf(code, own); meaning != "" {
			all = append(all, status{code, meaning})
		} else if meaning := meaningOf(code, usualStatuses); meaning != "" {
			all = append(all, status{code, meaning})
		}
	}
	return all
}

func meaningOf(code int, of []status) string {
	for _, s := range of {
		if s.code == code {
			return s.meaning
		}
	}
	return ""
}
