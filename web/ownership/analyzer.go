package ownership

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports uses of a web.Conn by code that does not hold it. Any driver of package analysis
// can run it.
var Analyzer = &analysis.Analyzer{
	Name: "connowner",
	Doc:  "report uses of a web.Conn by a component that has passed it on, or that lets other code keep it",
	URL:  "https://pkg.go.dev/weir/web/ownership",
	Run:  run,
}

// webPath is the import path of the package that declares Conn.
const webPath = "weir/web"

func run(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Path() == webPath {
		return nil, nil // package web itself passes Conns on
	}
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch f := n.(type) {
			case *ast.FuncDecl:
				if f.Body != nil {
					checkFunc(pass, f, f.Type, f.Body)
				}
			case *ast.FuncLit:
				checkFunc(pass, f, f.Type, f.Body)
			}
			return true
		})
	}
	return nil, nil
}

// checkFunc checks one function: for a borrowed Conn including the functions inside it, for Conns
// that are passed on without those.
func checkFunc(pass *analysis.Pass, f ast.Node, signature *ast.FuncType, body *ast.BlockStmt) {
	if conn := borrowedConn(pass.TypesInfo, signature); conn != nil {
		newBorrowCheck(pass, f, conn).check(body)
	}
	checkPassedOn(pass, body)
}

// borrowedConn returns the parameter by which a function borrows a Conn: its only parameter, as for
// a component's Handle, a Source, a Filter and a Pipe. A function with more parameters may be part
// of a network that passes the Conn on.
func borrowedConn(info *types.Info, signature *ast.FuncType) *types.Var {
	if signature.Params.NumFields() != 1 || len(signature.Params.List[0].Names) != 1 {
		return nil
	}
	v, _ := info.Defs[signature.Params.List[0].Names[0]].(*types.Var)
	if v == nil || !isConn(v.Type()) {
		return nil
	}
	return v
}

// isConn reports whether a type is *web.Conn.
func isConn(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	if !ok {
		return false
	}
	name := named.Obj()
	return name.Name() == "Conn" && name.Pkg() != nil && name.Pkg().Path() == webPath
}

// findUse returns the first position in n where a matching variable is used, or [token.NoPos].
func findUse(info *types.Info, n ast.Node, who func(types.Object) bool) token.Pos {
	at := token.NoPos
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && at == token.NoPos && info.Uses[id] != nil && who(info.Uses[id]) {
			at = id.Pos()
		}
		return at == token.NoPos
	})
	return at
}
