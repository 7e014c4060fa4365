/**
 * What the parser could not read: it goes on after a fault of syntax as well as it can, so its word on that place is worth little.
 *
 * Depends on: ir, typescript.
 */
import ts from 'typescript';
import type { Unit } from './ir.ts';

/** Faults lie on the tree; asking the program for them would look for those of types too. */
export function misreadOf(source: ts.SourceFile): Pick<Unit, 'misread'> {
  const { parseDiagnostics: [first] = [] } = source as ts.SourceFile & { readonly parseDiagnostics?: readonly ts.DiagnosticWithLocation[] };
  return first === undefined ? {} : { misread: { start: first.start, message: ts.flattenDiagnosticMessageText(first.messageText, ' ') } };
}
