package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/term"
)

type passwordCmd struct {
	User string `arg:"" help:"The user's name, without a colon."`
	Cost int    `default:"10" help:"Cost of bcrypt, 4 to 31: one more doubles the time of a check."`
}

// Help is the long part of the command's help.
func (c *passwordCmd) Help() string {
	return `Reads the password from the terminal, without echo, or one line from standard input. Prints a line of a users file, as the component authenticate reads it (and htpasswd -B writes it).

Examples:

  weir serve password ann >> users
  openssl rand -base64 12 | tee secret | weir serve password ann >> users`
}

// Run implements the command.
func (c *passwordCmd) Run(t *terminal) error {
	if c.User == "" || strings.ContainsAny(c.User, ":\r\n") {
		return usageError{errors.New("a user's name must not be empty, nor contain a colon or line end")}
	}
	if c.Cost < bcrypt.MinCost || c.Cost > bcrypt.MaxCost {
		return usageError{fmt.Errorf("--cost must be %d to %d", bcrypt.MinCost, bcrypt.MaxCost)}
	}
	password, err := readPassword(t, os.Stdin, "Password: ")
	if err != nil {
		return err
	}
	hash, err := bcrypt.GenerateFromPassword(password, c.Cost)
	if err != nil {
		return fmt.Errorf("cannot use the password: %w", err)
	}
	fmt.Fprintf(t.out, "%s:%s\n", c.User, hash)
	return nil
}

// readPassword reads a line; from a terminal with a prompt and without echo.
func readPassword(t *terminal, in *os.File, prompt string) ([]byte, error) {
	if !isTerminal(in) {
		line, err := bufio.NewReader(io.LimitReader(in, 1024)).ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return nil, errors.New("standard input is empty: write the password in one line")
		}
		return []byte(line), nil
	}
	fmt.Fprint(t.err, prompt)
	typed, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(t.err)
	if err == nil && len(typed) == 0 {
		err = errors.New("the password is empty")
	}
	return typed, err
}
