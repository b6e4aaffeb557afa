package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"weir/web/site/reference"
)

type componentsCmd struct {
	Name string `arg:"" optional:"" predictor:"component" help:"The component to explain; all components are listed without it."`
	JSON bool   `name:"json" help:"Write every attribute as JSON: type, unit, default, range, values and example."`
}

// Help is the long part of the command's help.
func (c *componentsCmd) Help() string {
	return `A site file is a list of blocks. Each is a component, except server, tls and route, which are listed and explained too. docs/site-reference.md has the same explanations on one page.

Examples:

  weir serve components                   a line for each
  weir serve components limit_rate        its attributes, and an example
  weir serve components proxy --json      the same as data`
}

// Run implements the command.
func (c *componentsCmd) Run(t *terminal) error {
	if c.Name == "" {
		return c.list(t)
	}
	b, err := reference.Find(c.Name)
	if err != nil {
		return usageError{fmt.Errorf("%w (weir serve components lists them)", err)}
	}
	if b = b.Plain(); c.JSON {
		return t.json(b)
	}
	return explainBlock(t.out, b, min(t.width(), widestHelp))
}

func (c *componentsCmd) list(t *terminal) error {
	blocks := reference.Blocks()
	for i := range blocks {
		blocks[i] = blocks[i].Plain()
	}
	if c.JSON {
		return t.json(blocks)
	}
	return listBlocks(t.out, blocks)
}

// listBlocks writes a line for each block, in groups.
func listBlocks(w io.Writer, blocks []reference.Block) error {
	var text bytes.Buffer
	for i, b := range blocks {
		if i == 0 || b.Group != blocks[i-1].Group {
			if i > 0 {
				text.WriteByte('\n')
			}
			fmt.Fprintf(&text, "%s:\n", b.Group)
		}
		fmt.Fprintf(&text, "  %-17s  %s\n", b.Name, b.About)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// explainBlock writes what a block does, its attributes and its example, in so many columns.
func explainBlock(w io.Writer, b reference.Block, columns int) error {
	var text bytes.Buffer
	writeWrapped(&text, fmt.Sprintf("%s: %s.", b.Name, b.About), 0, columns)
	for _, s := range []string{b.Notes, b.Label, b.Inside} {
		if s != "" {
			writeWrapped(&text, s, 0, columns)
		}
	}
	if len(b.Attributes) > 0 {
		text.WriteString("\nAttributes:\n")
	}
	for i, a := range b.Attributes {
		if i > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "  %s\n", a.Name)
		writeWrapped(&text, withoutName(a), 6, columns)
		writeWrapped(&text, attributeFacts(a), 6, columns)
	}
	text.WriteString("\nExample:\n")
	writeIndented(&text, strings.Split(strings.TrimSuffix(b.Example, "\n"), "\n"))
	_, err := w.Write(text.Bytes())
	return err
}

// withoutName returns the explanation of an attribute without the name, which stands above it.
func withoutName(a reference.Attribute) string {
	text := strings.TrimPrefix(a.Text, a.Name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// attributeFacts returns an attribute's type, default, limits and example in one line.
func attributeFacts(a reference.Attribute) string {
	facts := []string{"Type: " + a.Kind()}
	switch {
	case a.Required:
		facts = append(facts, "required")
	case a.Default != "":
		facts = append(facts, "default: "+a.Default)
	}
	if limits := a.Limits(); limits != "" {
		facts = append(facts, "values: "+limits)
	}
	return strings.Join(append(facts, "example: "+a.Example), "; ") + "."
}
