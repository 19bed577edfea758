import { z } from "zod";
import { fromJson } from "../platform/db/index.ts";
import type { SettingsChange, SettingsRecord } from "./schema.ts";
import type { SettingChange, SettingReader } from "./tool-settings.ts";

/** Caps in dollars, null for none, and from which part of a cap on people are warned. */
export type BudgetSettings = SettingsRecord["budgets"];

const parts = ["usdPerRun", "usdPerAgentDay", "usdPerMemberDay", "usdPerWorkspaceMonth", "warnAt"] as const;
const usualWarnAt = 0.8;

const settingName = (part: keyof BudgetSettings) => `budgets.${part}`;

export function readBudgets(row: SettingReader["row"]): BudgetSettings {
  const numberOf = (part: keyof BudgetSettings) => {
    const found = row(settingName(part));
    return found ? fromJson(z.number(), found.value) : null;
  };
  return {
    usdPerRun: numberOf("usdPerRun"),
    usdPerAgentDay: numberOf("usdPerAgentDay"),
    usdPerMemberDay: numberOf("usdPerMemberDay"),
    usdPerWorkspaceMonth: numberOf("usdPerWorkspaceMonth"),
    warnAt: numberOf("warnAt") ?? usualWarnAt,
  };
}

export function budgetChanges({ budgets = {} }: SettingsChange): SettingChange[] {
  return parts.flatMap((part) => {
    const value = budgets[part];
    return value === undefined ? [] : [{ name: settingName(part), value, secret: false }];
  });
}
