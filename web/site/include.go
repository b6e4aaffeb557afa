package site

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	includeBlock = "include"
	// maxIncludeDepth is how many files deep includes may be.
	maxIncludeDepth = 10
	// maxIncludes limits the includes of a site. A file counts as often as it is included.
	maxIncludes = 1000
)

// parseText parses the text of a file of the site. Its body is nil if there are errors.
func (l *loader) parseText(file string, text []byte) *hclsyntax.Body {
	start := fileStart(file)
	if l.size += len(text); l.size > MaxSize {
		l.addError(start, "File too long", "A site file, with the files that it includes, may have at most one megabyte.")
		return nil
	}
	if at, deep := findTooDeep(text, file); deep {
		l.addError(at, "Nested too deep", fmt.Sprintf("A site file may nest blocks, brackets and unary operators at most %d levels deep.", maxDepth))
		return nil
	}
	parsed, diags := l.parser.ParseHCL(text, file)
	if diags.HasErrors() {
		l.diags = append(l.diags, diags...)
		return nil
	}
	return parsed.Body.(*hclsyntax.Body)
}

// expanded returns a body in which each block "include" is replaced by the blocks of its file.
// files are the files that include one another, outermost first.
func (l *loader) expanded(body *hclsyntax.Body, files []string) *hclsyntax.Body {
	out := *body
	out.Blocks = nil
	for _, b := range body.Blocks {
		if b.Type == includeBlock {
			out.Blocks = append(out.Blocks, l.include(b, files)...)
			continue
		}
		block := *b
		block.Body = l.expanded(b.Body, files)
		out.Blocks = append(out.Blocks, &block)
	}
	return &out
}

// include returns the blocks of the file that a block "include" names.
func (l *loader) include(b *hclsyntax.Block, files []string) []*hclsyntax.Block {
	if len(b.Labels) != 1 || b.Labels[0] == "" || len(b.Body.Attributes)+len(b.Body.Blocks) > 0 {
		l.addError(b.TypeRange, "Invalid include", `An include has the name of its file as label, and is empty: include "common.hcl" {}.`)
		return nil
	}
	name := b.Labels[0]
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(b.TypeRange.Filename), name)
	}
	name = filepath.Clean(name)
	l.includes++
	switch {
	case slices.Contains(files, name):
		l.addError(b.LabelRanges[0], "Include cycle", fmt.Sprintf("The file includes itself: %s. Remove one of these includes.", strings.Join(append(slices.Clone(files), name), " includes ")))
		return nil
	case len(files) > maxIncludeDepth:
		l.addError(b.LabelRanges[0], "Includes too deep", fmt.Sprintf("Files may include one another at most %d levels deep.", maxIncludeDepth))
		return nil
	case l.includes > maxIncludes:
		if l.includes == maxIncludes+1 { // reported once
			l.addError(b.LabelRanges[0], "Too many includes", fmt.Sprintf("A site may have at most %d includes, each file counted as often as it is included.", maxIncludes))
		}
		return nil
	}
	text, err := l.read(name)
	if err != nil {
		l.addError(b.LabelRanges[0], "Cannot include", includeProblem(name, err))
		return nil
	}
	body := l.parseText(name, text)
	if body == nil {
		return nil
	}
	for _, a := range body.Attributes {
		l.addError(a.NameRange, "Unexpected attribute", fmt.Sprintf("An included file contains blocks: put %s into the block that it belongs to.", a.Name))
	}
	return l.expanded(body, append(slices.Clone(files), name)).Blocks
}

// includeProblem says why a file cannot be included.
func includeProblem(name string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("There is no file %s: the name is relative to the folder of the file that includes it.", name)
	}
	return err.Error() + "."
}
