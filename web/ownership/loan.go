package ownership

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// borrowCheck checks a function that borrows a Conn for the time of a call.
type borrowCheck struct {
	pass *analysis.Pass
	f    ast.Node
	conn *types.Var
	// local variables that hold the Conn: the parameter, and variables it was stored in
	holders map[types.Object]bool
}

func newBorrowCheck(pass *analysis.Pass, f ast.Node, conn *types.Var) *borrowCheck {
	return &borrowCheck{pass, f, conn, map[types.Object]bool{conn: true}}
}

// check reports where the Conn is given to code that may use it after the call.
func (l *borrowCheck) check(body *ast.BlockStmt) {
	for n := 0; n != len(l.holders); {
		n = len(l.holders)
		ast.Inspect(body, l.findHolders)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return l.report(l.callHolds(n.Call), n, "is taken by a goroutine, and is this component's only until it returns: take out of it what the goroutine needs before")
		case *ast.SendStmt:
			return l.report(l.holds(n.Value), n, "is sent on a channel, but is only lent to this component: the receiver would share it with the next component")
		case *ast.AssignStmt:
			return l.report(l.stores(n), n, "is stored in what outlives the call, and is this component's only until it returns")
		case *ast.ReturnStmt:
			return l.report(l.returns(n), n, "is used by what this returns, which runs when another component has the Conn: take out of it what is needed before")
		case *ast.CallExpr:
			if keeper := l.retention(n); keeper != "" {
				return l.report(l.anyHolds(n.Args), n, keeper)
			}
		}
		return true
	})
}

// report reports a finding if wrong is set. It reports whether to visit the children.
func (l *borrowCheck) report(wrong bool, n ast.Node, why string) bool {
	if wrong {
		l.pass.Reportf(n.Pos(), "%s %s", l.conn.Name(), why)
	}
	return !wrong
}

// findHolders adds local variables that the Conn is stored in. Like every function of ast.Inspect,
// it reports whether to visit the children.
func (l *borrowCheck) findHolders(n ast.Node) bool {
	assign, ok := n.(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != len(assign.Rhs) {
		return true
	}
	for i, left := range assign.Lhs {
		if v := l.variable(left); v != nil && l.isLocal(v) && l.holds(assign.Rhs[i]) {
			l.holders[v] = true
		}
	}
	return true
}

// variable returns the variable of an identifier, nil for other expressions.
func (l *borrowCheck) variable(e ast.Expr) types.Object {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	return l.pass.TypesInfo.ObjectOf(id)
}

// isLocal reports whether a variable belongs to the function and is not one of its parameters.
func (l *borrowCheck) isLocal(v types.Object) bool {
	if sig, ok := l.f.(*ast.FuncDecl); ok && v.Pos() < sig.Body.Pos() {
		return false
	}
	return v.Pos() >= l.f.Pos() && v.Pos() < l.f.End() && v != l.conn
}

// holds reports whether the value of an expression contains the Conn.
func (l *borrowCheck) holds(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return l.holders[l.variable(e)]
	case *ast.UnaryExpr:
		return e.Op == token.AND && l.holds(e.X)
	case *ast.KeyValueExpr:
		return l.holds(e.Value)
	case *ast.CompositeLit:
		return l.anyHolds(e.Elts)
	case *ast.FuncLit:
		return findUse(l.pass.TypesInfo, e.Body, func(o types.Object) bool { return l.holders[o] }) != token.NoPos
	case *ast.SelectorExpr: // a method value
		selection := l.pass.TypesInfo.Selections[e]
		return selection != nil && selection.Kind() == types.MethodVal && l.holds(e.X)
	case *ast.CallExpr: // a conversion, or append
		fun := l.pass.TypesInfo.Types[e.Fun]
		if id, ok := e.Fun.(*ast.Ident); ok && fun.IsBuiltin() && id.Name == "append" || fun.IsType() {
			return l.anyHolds(e.Args)
		}
	}
	return false
}

func (l *borrowCheck) anyHolds(list []ast.Expr) bool {
	for _, e := range list {
		if l.holds(e) {
			return true
		}
	}
	return false
}

// callHolds reports whether a call that runs later has the Conn.
func (l *borrowCheck) callHolds(call *ast.CallExpr) bool {
	return l.holds(call.Fun) || l.anyHolds(call.Args)
}

// stores reports whether an assignment stores the Conn in something that is not local to the
// function.
func (l *borrowCheck) stores(n *ast.AssignStmt) bool {
	for i, left := range n.Lhs {
		if len(n.Lhs) != len(n.Rhs) || !l.holds(n.Rhs[i]) {
			continue
		}
		if id, ok := left.(*ast.Ident); ok && id.Name == "_" {
			continue
		}
		if v := l.variable(root(left)); v == nil || v != l.conn && !l.isLocal(v) {
			return true
		}
	}
	return false
}

// root returns the variable that an assignable expression belongs to, as far as the source shows
// it.
func root(e ast.Expr) ast.Expr {
	for {
		switch p := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = p.X
		case *ast.IndexExpr:
			e = p.X
		case *ast.StarExpr:
			e = p.X
		default:
			return e
		}
	}
}

// returns reports whether the function returns a function, such as a transform, that holds the
// Conn. Returning the Conn itself is harmless.
func (l *borrowCheck) returns(n *ast.ReturnStmt) bool {
	for _, e := range n.Results {
		t := l.pass.TypesInfo.TypeOf(e)
		if t == nil {
			continue
		}
		if _, is := t.Underlying().(*types.Signature); is && l.holds(e) {
			return true
		}
	}
	return false
}

// retention returns why a call must not get the Conn, or "" if it may.
func (l *borrowCheck) retention(call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	var name *ast.Ident
	switch fun := fun.(type) {
	case *ast.SelectorExpr:
		name = fun.Sel
	case *ast.Ident:
		name = fun
	default:
		return ""
	}
	f, ok := l.pass.TypesInfo.Uses[name].(*types.Func)
	if !ok {
		return ""
	}
	return retainers[f.FullName()]
}

const (
	msgRunsLater = "is used by a function that runs when another component has the Conn: take out of it what is needed before"
	msgOwnConn   = "is used by a function that runs when the set-up is over: use the Conn that the function is given"
	msgGoroutine = "is taken by a goroutine, and is not for two at a time: take out of it what the goroutine needs before"
	msgStored    = "is left for other components, and is only lent to this one"
)

// retainers are functions that keep their arguments.
var retainers = map[string]string{
	webPath + ".Stream":                 msgRunsLater,
	webPath + ".Piped":                  msgRunsLater,
	"(" + webPath + ".Body).OnClose":    msgRunsLater,
	"(*" + webPath + ".Conn).Transform": msgRunsLater,
	"(*" + webPath + ".Conn).Hijack":    msgRunsLater,
	"(*" + webPath + ".Conn).Before":    msgOwnConn,
	"(*" + webPath + ".Conn).After":     msgOwnConn,
	"(*" + webPath + ".Conn).SetValue":  msgStored,
	"time.AfterFunc":                    msgRunsLater,
	"context.AfterFunc":                 msgRunsLater,
	"(*sync.WaitGroup).Go":              msgGoroutine,
}
