package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"weir/chat/account"
)

// chatData names the chat that a command works on.
type chatData struct {
	Data string `name:"data" required:"" placeholder:"DIR" help:"The chat's data directory, as weir chat serve has it."`
}

// open opens the accounts. Damaged lines are reported and skipped.
func (d chatData) open(t *terminal) (*account.Store, error) {
	s, err := account.Open(d.Data, account.Options{Report: func(err error) { fmt.Fprintln(t.err, "weir:", err) }})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: name the data directory of a chat by --data; weir chat user add creates one", err)
	}
	return s, err
}

// with opens the accounts, calls f, and closes them.
func (d chatData) with(t *terminal, f func(*account.Store) error) error {
	s, err := d.open(t)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

type chatUserCmd struct {
	chatData

	Add    userAddCmd    `cmd:"" help:"Create an account; example: weir chat user add ann --role admin --data chat"`
	List   userListCmd   `cmd:"" help:"List the accounts."`
	Passwd userPasswdCmd `cmd:"" help:"Change the password of an account."`
	Role   userRoleCmd   `cmd:"" help:"Change the role of an account; example: weir chat user role ann operator --data chat"`
	Cert   userCertCmd   `cmd:"" help:"Register a client certificate for an account."`
	Remove userRemoveCmd `cmd:"" help:"Remove an account."`
	Ban    userBanCmd    `cmd:"" help:"Ban an account, an address, a network or a mask; example: weir chat user ban 192.0.2.0/24 --for 7d --data chat"`
	Unban  userUnbanCmd  `cmd:"" help:"Remove a ban."`
	Bans   userBansCmd   `cmd:"" help:"List the bans."`
}

// Help is the long part of the command's help.
func (c *chatUserCmd) Help() string {
	return `Changes the files of the data directory under a lock, whether a server runs on it or not. A running server uses a change at the next login. Within a second it closes the sessions of banned and removed accounts. It needs no reload.

Examples:

  weir chat user add ann --role admin --data chat        asks for the password
  openssl rand -base64 12 | tee secret | weir chat user add bob --data chat
  weir chat user list --json --data chat
  weir chat user ban 'mallory!*@*' --for 7d --reason "calm down" --data chat`
}

type userAddCmd struct {
	Name  string `arg:"" help:"The account's name: a nickname of at most 32 letters, digits and -_[]{}\\|^."`
	Role  string `default:"member" enum:"member,operator,admin" help:"Role: member, operator (bans, kicks and redacts anywhere) or admin (also changes accounts)."`
	Reuse bool   `help:"Reuse the name of a removed account, with its direct messages."`
}

// Help is the long part of the command's help.
func (c *userAddCmd) Help() string {
	return `Reads the password from the terminal, without echo, or one line from standard input.

Examples:

  weir chat user add ann --role admin --data chat
  openssl rand -base64 12 | tee secret | weir chat user add bob --data chat`
}

// Run implements the command.
func (c *userAddCmd) Run(t *terminal, u *chatUserCmd) error {
	if err := account.CheckName(c.Name); err != nil {
		return usageError{err}
	}
	if err := os.Mkdir(u.Data, 0o700); err == nil {
		fmt.Fprintf(t.err, "weir: created the data directory %s\n", u.Data)
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	return u.with(t, func(s *account.Store) error {
		password, err := newPassword(t)
		if err != nil {
			return err
		}
		a, err := s.Add(c.Name, password, account.Role(c.Role), c.Reuse)
		if err != nil {
			// The name exists and Lookup finds no account: the account is removed, its name
			// reserved.
			if errors.Is(err, account.ErrExists) && !c.Reuse && s.Lookup(c.Name) == nil {
				return fmt.Errorf("%w: --reuse takes the name, with its direct messages", err)
			}
			return err
		}
		fmt.Fprintf(t.out, "created the account %s (%s)\n", a.Name, a.Role)
		return nil
	})
}

// newPassword reads a new password, on a terminal twice.
func newPassword(t *terminal) (string, error) {
	first, err := readPassword(t, os.Stdin, "Password: ")
	if err != nil {
		return "", err
	}
	if err := account.CheckPassword(string(first)); err != nil || !isTerminal(os.Stdin) {
		return string(first), err
	}
	second, err := readPassword(t, os.Stdin, "Repeat the password: ")
	if err == nil && string(second) != string(first) {
		err = errors.New("the passwords differ: nothing was changed")
	}
	return string(first), err
}

type userListCmd struct {
	JSON bool `name:"json" help:"Write the list as JSON."`
}

// userEntry is an account in the list.
type userEntry struct {
	*account.Account
	Password bool `json:"password"` // whether it has one
}

// Run implements the command.
func (c *userListCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error {
		list := []userEntry{}
		var rows [][]string
		for _, a := range s.Accounts() {
			list = append(list, userEntry{a, a.HasPassword()})
			rows = append(rows, []string{a.Name, string(a.Role), timeCell(a.Created), credentials(a)})
		}
		if c.JSON {
			return t.json(list)
		}
		writePlainTable(t.out, []column{{title: "account"}, {title: "role"}, {title: "since"}, {title: "logs in by"}}, rows)
		return nil
	})
}

// credentials lists the credentials by which an account logs in.
func credentials(a *account.Account) string {
	var list []string
	if a.HasPassword() {
		list = append(list, "password")
	}
	for _, cert := range a.Certs {
		list = append(list, "certificate "+cert[:12]+"…")
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// timeCell formats a time for a table, in the local time zone. The zero time is "-".
func timeCell(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Local().Format("2006-01-02 15:04")
}

type userPasswdCmd struct {
	Name string `arg:"" help:"The account's name."`
}

// Help is the long part of the command's help.
func (c *userPasswdCmd) Help() string {
	return `Reads the password from the terminal, without echo, or one line from standard input. Open sessions of the account stay.

Example:

  weir chat user passwd ann --data chat`
}

// Run implements the command.
func (c *userPasswdCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error {
		if s.Lookup(c.Name) == nil {
			return fmt.Errorf("there is no account %q", c.Name)
		}
		password, err := newPassword(t)
		if err != nil {
			return err
		}
		return s.SetPassword(c.Name, password)
	})
}

type userRoleCmd struct {
	Name string `arg:"" help:"The account's name."`
	Role string `arg:"" enum:"member,operator,admin" help:"member, operator (bans, kicks and redacts anywhere) or admin (also changes accounts)."`
}

// Run implements the command.
func (c *userRoleCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error { return s.SetRole(c.Name, account.Role(c.Role)) })
}

type userCertCmd struct {
	Name        string `arg:"" help:"The account's name."`
	Fingerprint string `arg:"" help:"SHA-256 fingerprint of the certificate, 64 hex digits."`
	Remove      bool   `help:"Remove the certificate instead."`
}

// Help is the long part of the command's help.
func (c *userCertCmd) Help() string {
	return `A client that presents this certificate over TLS logs in by SASL EXTERNAL, without a password.

Example:

  weir chat user cert ann "$(openssl x509 -in ann.pem -outform DER | sha256sum | cut -d ' ' -f 1)" --data chat`
}

// Run implements the command.
func (c *userCertCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error {
		if c.Remove {
			return s.RemoveCert(c.Name, c.Fingerprint)
		}
		return s.AddCert(c.Name, c.Fingerprint)
	})
}

type userRemoveCmd struct {
	Name string `arg:"" help:"The account's name."`
	Free bool   `help:"Free the name: another user may register it, and sees its direct messages."`
}

// Help is the long part of the command's help.
func (c *userRemoveCmd) Help() string {
	return `The name stays reserved unless --free is given, because direct messages are stored under the names of the two accounts. Messages in rooms stay.

Example:

  weir chat user remove mallory --data chat`
}

// Run implements the command.
func (c *userRemoveCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error { return s.Remove(c.Name, c.Free) })
}

// span is a duration as a user writes it: Go's notation, days (7d) or weeks (2w), at most maxSpan.
// 0 is for ever.
type span time.Duration

// maxSpan is a century. A longer duration is rejected, because Duration overflows at 292 years.
const maxSpan = 36500 * 24 * time.Hour

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(text []byte) error {
	unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if n := len(text) - 1; n > 0 && unit[text[n]] > 0 {
		if count, err := strconv.ParseUint(string(text[:n]), 10, 31); err == nil {
			if count > uint64(maxSpan/unit[text[n]]) {
				return errSpanTooLong(text)
			}
			*s = span(time.Duration(count) * unit[text[n]])
			return nil
		}
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration: write, for example, 45m, 12h, 7d or 2w", text)
	}
	if d > maxSpan {
		return errSpanTooLong(text)
	}
	*s = span(d)
	return nil
}

func errSpanTooLong(text []byte) error {
	return fmt.Errorf("%q is longer than a century: write at most 36500d", text)
}

// until returns the time s from now, and the zero time for an endless span.
func (s span) until() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(s))
}
