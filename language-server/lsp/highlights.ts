/**
 * Where the array under the caret is written and read, in the function that declares it and in those inside of it.
 *
 * Depends on: tokens, convert, session, vscode-languageserver.
 */
import { DocumentHighlightKind, type Connection } from 'vscode-languageserver';
import { soon, tokenOf, type Guarded } from './tokens.ts';
import { fileOf, fromPosition, toPosition } from './convert.ts';
import type { Session } from './session.ts';

export function serveHighlights(connection: Connection, session: Session, guarded: Guarded): void {
  connection.onDocumentHighlight(({ textDocument: { uri }, position }, token) =>
    guarded('highlights', null, async () => {
      const place = fromPosition(position);
      const version = session.versionOf(fileOf(uri));
      const asked = session.ask(uri, (analysis, file) => analysis.occurrences(tokenOf(token), file, place));
      const found = await soon(
        asked.catch(() => undefined),
        () => undefined,
      );
      // Without an answer of ours the editor shows the compiler's.
      if (found === undefined || session.versionOf(fileOf(uri)) !== version) return null;
      return found.map(({ start, end, writes }) => ({
        range: { start: toPosition(start), end: toPosition(end) },
        kind: writes ? DocumentHighlightKind.Write : DocumentHighlightKind.Read,
      }));
    }),
  );
}
