/**
 * The list of rules, in the order of the README. Depends on: the rules.
 */
import * as asyncTidy from './async-tidy.ts';
import * as capturedConstant from './captured-constant.ts';
import * as doubleDonate from './double-donate.ts';
import * as jitInLoop from './jit-in-loop.ts';
import * as lateFree from './late-free.ts';
import * as leak from './leak.ts';
import * as missedDonation from './missed-donation.ts';
import * as missingRef from './missing-ref.ts';
import * as ownerWithoutDispose from './owner-without-dispose.ts';
import * as peakOverBudget from './peak-over-budget.ts';
import * as rematCandidate from './remat-candidate.ts';
import * as retainedInLoop from './retained-in-loop.ts';
import * as retrace from './retrace.ts';
import type { Cases, Rule } from './rule.ts';
import * as tracerEscape from './tracer-escape.ts';
import * as unusableDonation from './unusable-donation.ts';
import * as unusedSuppression from './unused-suppression.ts';
import * as useAfterDispose from './use-after-dispose.ts';
import * as useAfterDonate from './use-after-donate.ts';

export const withCases: readonly { readonly rule: Rule; readonly cases: Cases }[] = [
  useAfterDonate,
  useAfterDispose,
  doubleDonate,
  unusableDonation,
  missedDonation,
  leak,
  retainedInLoop,
  missingRef,
  asyncTidy,
  jitInLoop,
  capturedConstant,
  lateFree,
  tracerEscape,
  retrace,
  ownerWithoutDispose,
  peakOverBudget,
  rematCandidate,
  unusedSuppression,
];

export const rules: readonly Rule[] = withCases.map(({ rule }) => rule);
