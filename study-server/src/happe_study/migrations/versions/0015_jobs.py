# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs do long work, and each report belongs to its job. PostgreSQL gets the tables of Procrastinate's queue."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op
from procrastinate.schema import SchemaManager

revision = "0015_jobs"
down_revision = "0014_reviews"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
STATES = "('waiting', 'running', 'done', 'failed', 'cancelled')"
STOPPED = "The server was stopped."
OWN = ("reports", "report_files")
PROCRASTINATE = """
    DO $$ DECLARE each record; BEGIN
        DROP TABLE procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, procrastinate_workers CASCADE;
        FOR each IN SELECT oid::regprocedure AS name FROM pg_proc
                    WHERE proname LIKE 'procrastinate\\_%' AND pronamespace = current_schema()::regnamespace LOOP
            EXECUTE 'DROP FUNCTION ' || each.name || ' CASCADE';
        END LOOP;
        DROP TYPE procrastinate_job_status, procrastinate_job_event_type, procrastinate_job_to_defer_v1 CASCADE;
    END $$
"""


def upgrade() -> None:
    """Make the tables, and a job for each report."""
    op.create_table(
        "jobs",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("kind", sa.String(255), nullable=False),
        sa.Column("study_id", SERIAL, nullable=True),
        sa.Column("asked_by", sa.String(255), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(255), nullable=False),
        sa.Column("requested_us", sa.BigInteger(), nullable=False),
        sa.Column("started_us", sa.BigInteger(), nullable=True),
        sa.Column("finished_us", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("lease", sa.String(16), nullable=True),
        sa.Column("worker", sa.String(255), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("doing", sa.String(255), nullable=False),
        sa.Column("failed", sa.Text(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.CheckConstraint(f"state IN {STATES}", name="ck_jobs_state"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_jobs_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_study_id_kind_id", "jobs", ["study_id", "kind", "id"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    reports, files = _set_aside()
    _reports(
        sa.Column("job_id", SERIAL, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_reports_job_id", ondelete="CASCADE"),
        sa.UniqueConstraint("job_id", name="uq_reports_job_id"),
    )
    accounts = op.get_bind().execute(sa.text("SELECT id, email FROM accounts"))
    emails = {account.id: account.email for account in accounts}
    for report in reports:
        job = _job_of(report, emails[report["account_id"]])
        put = {"id": report["id"], "study_id": report["study_id"], "number": report["number"], "job": job}
        op.get_bind().execute(
            sa.text("INSERT INTO reports (id, study_id, number, job_id) VALUES (:id, :study_id, :number, :job)"), put
        )
    _put_back(files)
    if op.get_bind().dialect.name == "postgresql":
        op.get_bind().exec_driver_sql(SchemaManager.get_schema().replace("%", "%%"))


def downgrade() -> None:
    """Undo it. The older program takes a report whose job has not ended as one that was interrupted."""
    reports, files = _set_aside()
    _reports(
        sa.Column("account_id", SERIAL, nullable=False),
        sa.Column("requested_us", sa.BigInteger(), nullable=False),
        sa.Column("finished_us", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("doing", sa.String(255), nullable=False),
        sa.Column("failed", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_reports_account_id"),
    )
    for report in reports:
        op.get_bind().execute(
            sa.text("""
                INSERT INTO reports (id, study_id, number, account_id, requested_us, finished_us, step, steps, doing, failed)
                SELECT :id, :study_id, :number, accounts.id, requested_us, finished_us, step, steps, doing, failed
                FROM jobs JOIN accounts ON accounts.email = jobs.asked_by WHERE jobs.id = :job_id
            """),
            report,
        )
    _put_back(files)
    op.drop_table("jobs")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(PROCRASTINATE)


def _set_aside() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Drop the tables of reports and of their files, and return their rows. A study has at most 20 reports."""
    rows = [[dict(row) for row in op.get_bind().execute(sa.text(f"SELECT * FROM {each}")).mappings()] for each in OWN]  # noqa: S608 - ours
    for each in reversed(OWN):
        op.drop_table(each)
    return rows[0], rows[1]


def _reports(*more: sa.Column[object] | sa.Constraint) -> None:
    op.create_table(
        "reports",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("study_id", SERIAL, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        *more,
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_reports_study_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_reports"),
        sa.UniqueConstraint("study_id", "number", name="uq_reports_study_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "report_files",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("report_id", SERIAL, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("media_type", sa.String(255), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["report_id"], ["reports.id"], name="fk_report_files_report_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_report_files"),
        sa.UniqueConstraint("report_id", "name", name="uq_report_files_report_id_name"),
    )


def _job_of(report: dict[str, object], asked_by: str) -> int:
    """Insert a job for an older report, and return the job's number."""
    ended = report["finished_us"] is not None
    values = {
        "study_id": report["study_id"],
        "asked_by": asked_by,
        "arguments": json.dumps({"number": report["number"]}),
        "state": "done" if ended and not report["failed"] else "failed",
        "requested_us": report["requested_us"],
        "finished_us": report["finished_us"],
        "failed": report["failed"] if ended else STOPPED,
    }
    made = op.get_bind().execute(
        sa.text("""
            INSERT INTO jobs
                (kind, study_id, asked_by, arguments, state, requested_us, finished_us, failed, tries, worker, step, steps, doing)
            VALUES ('report', :study_id, :asked_by, :arguments, :state, :requested_us, :finished_us, :failed, 1, '', 0, 0, '')
            RETURNING id
        """),
        values,
    )
    return int(made.scalar_one())


def _put_back(files: list[dict[str, object]]) -> None:
    kept = {row[0] for row in op.get_bind().execute(sa.text("SELECT id FROM reports"))}
    put = sa.text("""
        INSERT INTO report_files (id, report_id, name, media_type, content)
        VALUES (:id, :report_id, :name, :media_type, :content)
    """)
    for row in files:
        if row["report_id"] in kept:
            op.get_bind().execute(put, row)
    if op.get_bind().dialect.name == "postgresql":
        for each in OWN:
            highest = f"(SELECT coalesce(max(id), 1) FROM {each})"  # noqa: S608 - ours
            op.execute(f"SELECT setval(pg_get_serial_sequence('{each}', 'id'), {highest})")
