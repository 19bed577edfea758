/** A time that a text names, as a five-part cron expression. */
export interface NamedSchedule {
  schedule: string;
  timezone?: string;
}

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const numbers = [
  ...["zero", "one", "two", "three", "four", "five", "six"],
  ...["seven", "eight", "nine", "ten", "eleven", "twelve"],
];
const hours: Record<string, number> = { midnight: 0, morning: 9, noon: 12, evening: 18, night: 22 };
const usualHour = 9;

/**
 * The schedule that English words such as "every weekday at nine" or "each Monday at 14:30" name; undefined when there is
 * none. Without a time of day it is nine o'clock. A careful guess for a person to confirm.
 */
export function readSchedule(text: string): NamedSchedule | undefined {
  const plain = text.toLowerCase().replace(/\s+/g, " ");
  const period = readPeriod(plain);
  if (period === undefined) return undefined;
  const timezone = /\b(UTC|[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?)\b/.exec(text)?.[1];
  const zone = timezone === undefined ? {} : { timezone };
  if (period === "hour") return { schedule: "0 * * * *", ...zone };
  const { hour, minute } = readTime(plain);
  return { schedule: `${minute} ${hour} ${period}`, ...zone };
}

/** Day of month, month and day of week. */
function readPeriod(text: string): string | undefined {
  const day = days.join("|");
  const named = new RegExp(`\\b(?:every|each) (${day})\\b|\\bon (${day})s\\b`).exec(text);
  if (named !== null) return `* * ${days.indexOf(named[1] ?? named[2] ?? "")}`;
  const word =
    /\b(?:every|each) (working day|workday|weekday|weekend|day|morning|noon|evening|night|week|month|hour)\b/.exec(
      text,
    )?.[1] ?? /\b(hourly|daily|weekly|monthly|nightly)\b/.exec(text)?.[1];
  switch (word) {
    case "working day":
    case "workday":
    case "weekday":
      return "* * 1-5";
    case "weekend":
      return "* * 6,0";
    case "day":
    case "daily":
    case "morning":
    case "noon":
    case "evening":
    case "night":
    case "nightly":
      return "* * *";
    case "week":
    case "weekly":
      return "* * 1";
    case "month":
    case "monthly":
      return "1 * *";
    case "hour":
    case "hourly":
      return "hour";
  }
  return undefined;
}

function readTime(text: string): { hour: number; minute: number } {
  const spoken = numbers.join("|");
  const at = new RegExp(
    `\\bat (?:(half past|quarter past) )?(\\d{1,2}|${spoken})(?:[:.h](\\d{2}))?(?: ?o'clock)? ?(am|pm|a\\.m\\.|p\\.m\\.|in the (?:afternoon|evening))?`,
  ).exec(text);
  if (at !== null) {
    const [, past, said = "", minutes, half] = at;
    const number = /^\d/.test(said) ? Number(said) : numbers.indexOf(said);
    const minute = past === "half past" ? 30 : past === "quarter past" ? 15 : Number(minutes ?? 0);
    const hour = toHour(number, half);
    if (hour < 24 && minute < 60) return { hour, minute };
  }
  const named = Object.keys(hours).find((word) => new RegExp(`\\b${word}\\b`).test(text));
  return { hour: (named === undefined ? undefined : hours[named]) ?? usualHour, minute: 0 };
}

function toHour(number: number, half: string | undefined): number {
  if (half === undefined || number > 12) return number;
  const isLate = half.startsWith("p") || half.startsWith("in the");
  return (number % 12) + (isLate ? 12 : 0);
}
