# SPDX-License-Identifier: GPL-2.0-or-later
"""All tables, as Alembic writes them from the models; an audit log that is empty and can only grow.

Before the next release a change of the models changes this file. After it, each change gets a migration.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001_all_tables"
down_revision = None
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SQLITE = [
    f"CREATE TRIGGER audit_entries_no_{verb.lower()} BEFORE {verb} ON audit_entries "
    "BEGIN SELECT RAISE(ABORT, 'audit_entries is append-only'); END"
    for verb in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    """CREATE FUNCTION audit_entries_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'audit_entries is append-only'; END $$""",
    """CREATE TRIGGER audit_entries_refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entries_refuse()""",
    "ALTER TABLE run_records ALTER COLUMN document SET STORAGE EXTERNAL",  # ciphers don't compress
    "ALTER TABLE traces ALTER COLUMN manifest_sealed SET STORAGE EXTERNAL",
]


def upgrade() -> None:
    """Make all."""
    op.create_table(
        "accounts",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("email", sa.String(255), nullable=False, unique=True),
        sa.Column("password", sa.String(255)),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("password_given", sa.Boolean(), nullable=False),
        sa.Column("password_given_us", sa.BigInteger()),
        sa.Column("totp_secret", sa.LargeBinary()),
        sa.Column("totp_step", sa.BigInteger()),
        sa.Column("fs_uniquifier", sa.String(255), nullable=False, unique=True),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "audit_entries",
        sa.Column("number", SERIAL, primary_key=True, autoincrement=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(255), nullable=False),
        sa.Column("detail_sha256", sa.String(64), nullable=False),
        sa.Column("chain_sha256", sa.String(64), nullable=False),
    )
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("chain_sha256", sa.String(64), nullable=False),
    )
    op.create_table(
        "identity",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(255), nullable=False),
    )
    op.create_table(
        "rate_hits",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("ends_us", sa.BigInteger(), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
    )
    op.create_index("ix_rate_hits_ends_us", "rate_hits", ["ends_us"])
    op.create_table(
        "secret_fingerprints",
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False),
    )
    op.create_table(
        "studies",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("name", sa.String(255), nullable=False, unique=True),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("protocol", sa.Text(), nullable=False),
        sa.Column("protocol_sha256", sa.String(64), nullable=False),
        sa.Column("protocol_file", sa.Text()),
        sa.Column("state", sa.String(255), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("locked_us", sa.BigInteger()),
        sa.Column("commitment", sa.String(64)),
        sa.Column("seed_sealed", sa.LargeBinary()),
        sa.Column("unblinded_us", sa.BigInteger()),
        sa.Column("seed", sa.LargeBinary()),
        sa.Column("salt", sa.LargeBinary()),
        sa.CheckConstraint("state IN ('draft', 'locked', 'unblinded')", name="state"),
    )
    op.create_table(
        "swept_parts",
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("found_us", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "analysis_documents",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("kind", sa.String(255), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("uploaded_us", sa.BigInteger(), nullable=False),
        sa.Column("account_id", SERIAL, sa.ForeignKey("accounts.id")),
        sa.CheckConstraint("kind IN ('power-measures', 'power-model')", name="kind"),
        sa.UniqueConstraint("study_id", "kind"),
    )
    op.create_table(
        "devices",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("code", sa.String(16), nullable=False, unique=True),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(255), nullable=False),
        sa.Column("public_key", sa.LargeBinary()),
        sa.Column("enrol_sha256", sa.String(64), unique=True),
        sa.Column("enrol_expires_us", sa.BigInteger()),
        sa.Column("enrolled_us", sa.BigInteger()),
        sa.Column("revoked_us", sa.BigInteger()),
        sa.Column("heartbeat_us", sa.BigInteger()),
        sa.Column("heartbeat", sa.JSON()),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('laptop', 'meter')", name="kind"),
        sa.UniqueConstraint("study_id", "name"),
    )
    op.create_table(
        "grants",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("account_id", SERIAL, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("role", sa.String(255), nullable=False),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE")),
        sa.Column("granted_us", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "role IN ('investigator', 'experimenter', 'analyst', 'custodian', 'auditor', 'administrator', 'reviewer')",
            name="role",
        ),
        sa.UniqueConstraint("account_id", "role", "study_id"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("kind", sa.String(255), nullable=False),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE")),
        sa.Column("asked_by", sa.String(255), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(255), nullable=False),
        sa.Column("requested_us", sa.BigInteger(), nullable=False),
        sa.Column("started_us", sa.BigInteger()),
        sa.Column("finished_us", sa.BigInteger()),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("lease", sa.String(16)),
        sa.Column("alive_us", sa.BigInteger()),
        sa.Column("worker", sa.String(255), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("doing", sa.String(255), nullable=False),
        sa.Column("failed", sa.Text()),
        sa.Column("result", sa.JSON()),
        sa.CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("ix_jobs_study_id_kind_id", "jobs", ["study_id", "kind", "id"])
    op.create_table(
        "participants",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("code", sa.String(16), nullable=False, unique=True),
        sa.Column("state", sa.String(255), nullable=False),
        sa.Column("stratum", sa.String(255)),
        sa.Column("consent_version", sa.String(255)),
        sa.Column("consent_us", sa.BigInteger()),
        sa.Column("on_withdrawal", sa.String(255)),
        sa.Column("answers", sa.JSON()),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("enrolled_us", sa.BigInteger()),
        sa.Column("handout_us", sa.BigInteger()),
        sa.Column("done_us", sa.BigInteger()),
        sa.Column("ended_us", sa.BigInteger()),
        sa.CheckConstraint("on_withdrawal IN ('erase', 'deidentify')", name="on_withdrawal"),
        sa.CheckConstraint(
            "state IN ('invited', 'consented', 'enrolled', 'done', 'withdrawn', 'replaced')", name="state"
        ),
    )
    op.create_index("ix_participants_study_id_code", "participants", ["study_id", "code"])
    op.create_index("ix_participants_study_id_state_code", "participants", ["study_id", "state", "code"])
    op.create_table(
        "audit_details",
        sa.Column("number", SERIAL, sa.ForeignKey("audit_entries.number"), primary_key=True, autoincrement=False),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id")),
        sa.Column("participant_id", SERIAL, sa.ForeignKey("participants.id")),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
    )
    op.create_index("ix_audit_details_participant_id", "audit_details", ["participant_id"])
    op.create_table(
        "clock_estimates",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("device_id", SERIAL, sa.ForeignKey("devices.id", ondelete="CASCADE"), nullable=False),
        sa.Column("client_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("clock", sa.String(255), nullable=False),
        sa.Column("device_us", sa.BigInteger(), nullable=False),
        sa.Column("server_us", sa.BigInteger(), nullable=False),
        sa.Column("offset_us", sa.BigInteger(), nullable=False),
        sa.Column("uncertainty_us", sa.BigInteger(), nullable=False),
        sa.Column("probes", sa.Integer(), nullable=False),
        sa.UniqueConstraint("device_id", "client_id"),
    )
    op.create_index("ix_clock_estimates_device_id_server_us", "clock_estimates", ["device_id", "server_us"])
    op.create_table(
        "export_pieces",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("job_id", SERIAL, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.UniqueConstraint("job_id", "name", "at"),
    )
    op.create_table(
        "profiles",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("participant_id", SERIAL, sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("participant", sa.String(16), nullable=False),
        sa.Column("application", sa.String(255), nullable=False),
        sa.Column("khz", sa.JSON(), nullable=False),
        sa.Column("ladder", sa.JSON(), nullable=False),
        sa.Column("f_max_khz", sa.Integer(), nullable=False),
        sa.Column("highest_khz", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("performance", sa.Integer(), nullable=False),
        sa.Column("power", sa.Integer(), nullable=False),
        sa.Column("presses", sa.Integer(), nullable=False),
        sa.Column("taught_in", sa.String(255), nullable=False),
        sa.Column("hit_top", sa.Boolean(), nullable=False),
        sa.Column("hit_bottom", sa.Boolean(), nullable=False),
        sa.Column("changed", sa.Boolean(), nullable=False),
        sa.Column("agrees", sa.Boolean(), nullable=False),
        sa.Column("last_us", sa.BigInteger(), nullable=False),
        sa.Column("unusual", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("notes", sa.Integer(), nullable=False),
        sa.UniqueConstraint("participant_id", "application"),
    )
    op.create_index("ix_profiles_study_id_agrees", "profiles", ["study_id", "agrees", "participant", "application"])
    op.create_index("ix_profiles_study_id_application", "profiles", ["study_id", "application", "participant"])
    op.create_index("ix_profiles_study_id_flagged", "profiles", ["study_id", "flagged", "participant", "application"])
    op.create_index(
        "ix_profiles_study_id_highest_khz", "profiles", ["study_id", "highest_khz", "participant", "application"]
    )
    op.create_index("ix_profiles_study_id_last_us", "profiles", ["study_id", "last_us", "participant", "application"])
    op.create_index("ix_profiles_study_id_participant", "profiles", ["study_id", "participant", "application"])
    op.create_index("ix_profiles_study_id_presses", "profiles", ["study_id", "presses", "participant", "application"])
    op.create_index("ix_profiles_study_id_unusual", "profiles", ["study_id", "unusual", "participant", "application"])
    op.create_table(
        "reports",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("job_id", SERIAL, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, unique=True),
        sa.UniqueConstraint("study_id", "number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "runs",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("participant_id", SERIAL, sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("study_id", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.String(16), nullable=False, unique=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("application", sa.String(255), nullable=False),
        sa.Column("phase", sa.String(255), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(255), nullable=False),
        sa.Column("condition_sealed", sa.LargeBinary(), nullable=False),
        sa.Column("condition", sa.String(255)),
        sa.Column("device_id", SERIAL, sa.ForeignKey("devices.id")),
        sa.Column("start_id", sa.Uuid(as_uuid=False)),
        sa.Column("start_sealed", sa.LargeBinary()),
        sa.Column("started_us", sa.BigInteger()),
        sa.Column("ended_us", sa.BigInteger()),
        sa.Column("rating", sa.Integer()),
        sa.Column("rating_id", sa.Uuid(as_uuid=False)),
        sa.Column("rated_us", sa.BigInteger()),
        sa.Column("guess", sa.String(255)),
        sa.Column("guess_id", sa.Uuid(as_uuid=False)),
        sa.Column("guessed_us", sa.BigInteger()),
        sa.Column("record_us", sa.BigInteger()),
        sa.Column("completed_us", sa.BigInteger()),
        sa.Column("aborted_us", sa.BigInteger()),
        sa.Column("abort_reason", sa.Text()),
        sa.CheckConstraint("phase IN ('training', 'main')", name="phase"),
        sa.CheckConstraint("state IN ('planned', 'started', 'rated', 'complete', 'aborted', 'replaced')", name="state"),
        sa.UniqueConstraint("participant_id", "position", "attempt"),
    )
    op.create_index("ix_runs_participant_id_state", "runs", ["participant_id", "state"])
    op.create_index("ix_runs_study_id_application_state", "runs", ["study_id", "application", "state"])
    op.create_index("ix_runs_study_id_code", "runs", ["study_id", "code"])
    op.create_index("ix_runs_study_id_state_code", "runs", ["study_id", "state", "code"])
    op.create_table(
        "sittings",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("device_id", SERIAL, sa.ForeignKey("devices.id", ondelete="CASCADE"), nullable=False),
        sa.Column("participant_id", SERIAL, sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("started_us", sa.BigInteger(), nullable=False),
        sa.Column("ended_us", sa.BigInteger()),
    )
    op.create_index("ix_sittings_device_id_ended_us", "sittings", ["device_id", "ended_us"])
    op.create_table(
        "slots",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("stratum", sa.String(255), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("plan_sealed", sa.LargeBinary(), nullable=False),
        sa.Column("participant_id", SERIAL, sa.ForeignKey("participants.id"), unique=True),
        sa.UniqueConstraint("study_id", "stratum", "position"),
    )
    op.create_index("ix_slots_free", "slots", ["study_id", "stratum", "participant_id", "position"])
    op.create_table(
        "tokens",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("kind", sa.String(255), nullable=False),
        sa.Column("participant_id", SERIAL, sa.ForeignKey("participants.id", ondelete="CASCADE")),
        sa.Column("device_id", SERIAL, sa.ForeignKey("devices.id", ondelete="CASCADE")),
        sa.Column("account_id", SERIAL, sa.ForeignKey("accounts.id", ondelete="CASCADE")),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("proven_us", sa.BigInteger()),
        sa.Column("expires_us", sa.BigInteger()),
        sa.Column("revoked_us", sa.BigInteger()),
        sa.CheckConstraint("kind IN ('participant', 'device', 'account')", name="kind"),
    )
    op.create_index("ix_tokens_device_id", "tokens", ["device_id"])
    op.create_index("ix_tokens_participant_id", "tokens", ["participant_id"])
    op.create_table(
        "traces",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("study_id", SERIAL, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("device_id", SERIAL, sa.ForeignKey("devices.id"), nullable=False),
        sa.Column("laptop_id", SERIAL, sa.ForeignKey("devices.id")),
        sa.Column("client_id", sa.Uuid(as_uuid=False), nullable=False, unique=True),
        sa.Column("header", sa.JSON(), nullable=False),
        sa.Column("header_sha256", sa.String(64), nullable=False),
        sa.Column("key_sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sealed_us", sa.BigInteger()),
        sa.Column("manifest", sa.JSON()),
        sa.Column("manifest_sealed", sa.LargeBinary()),
        sa.Column("manifest_digest", sa.String(64)),
        sa.Column("parts", sa.Integer()),
        sa.Column("seconds", sa.Integer()),
    )
    op.create_index("ix_traces_device_id", "traces", ["device_id"])
    op.create_index("ix_traces_laptop_id_created_us_sealed_us", "traces", ["laptop_id", "created_us", "sealed_us"])
    op.create_index("ix_traces_study_id_client_id", "traces", ["study_id", "client_id"])
    op.create_index(
        "ix_traces_study_id_device_id_sealed_us_parts_stored_bytes",
        "traces",
        ["study_id", "device_id", "sealed_us", "parts", "stored_bytes"],
    )
    op.create_table(
        "learning_events",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("run_id", SERIAL, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("t_us", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("policy", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("from_khz", sa.Integer(), nullable=False),
        sa.Column("to_khz", sa.Integer(), nullable=False),
        sa.Column("cur_khz", sa.Integer(), nullable=False),
        sa.Column("util_ppm", sa.Integer(), nullable=False),
        sa.CheckConstraint("key IN ('performance', 'power')", name="key"),
    )
    op.create_index("ix_learning_events_run_id_t_us", "learning_events", ["run_id", "t_us"])
    op.create_table(
        "profile_assignments",
        sa.Column(
            "profile_id",
            SERIAL,
            sa.ForeignKey("profiles.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column(
            "account_id",
            SERIAL,
            sa.ForeignKey("accounts.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
    )
    op.create_index("ix_profile_assignments_account_id_profile_id", "profile_assignments", ["account_id", "profile_id"])
    op.create_table(
        "profile_reviews",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("profile_id", SERIAL, sa.ForeignKey("profiles.id", ondelete="CASCADE"), nullable=False),
        sa.Column("account_id", SERIAL, sa.ForeignKey("accounts.id")),
        sa.Column("kind", sa.String(255), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('note', 'flag', 'unflag', 'pass')", name="kind"),
    )
    op.create_index("ix_profile_reviews_profile_id", "profile_reviews", ["profile_id"])
    op.create_table(
        "report_files",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("report_id", SERIAL, sa.ForeignKey("reports.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("media_type", sa.String(255), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.UniqueConstraint("report_id", "name"),
    )
    op.create_table(
        "run_records",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("run_id", SERIAL, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, unique=True),
        sa.Column("client_id", sa.Uuid(as_uuid=False), nullable=False, unique=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("received_us", sa.BigInteger(), nullable=False),
        sa.Column("taken_out", sa.Boolean(), nullable=False),
    )
    op.create_index(
        "ix_run_records_left",
        "run_records",
        ["run_id"],
        sqlite_where=sa.text("taken_out = 0"),
        postgresql_where=sa.text("NOT taken_out"),
    )
    op.create_table(
        "taught_runs",
        sa.Column(
            "run_id", SERIAL, sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        sa.Column("started_us", sa.BigInteger(), nullable=False),
        sa.Column("ended_us", sa.BigInteger(), nullable=False),
        sa.Column("lessons", sa.Integer(), nullable=False),
        sa.Column("warm", sa.Boolean(), nullable=False),
        sa.Column("ladder", sa.JSON(), nullable=False),
    )
    op.create_table(
        "trace_parts",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("trace_id", SERIAL, sa.ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("received_us", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("trace_id", "number"),
    )
    op.create_table(
        "uafps",
        sa.Column("id", SERIAL, primary_key=True),
        sa.Column("run_id", SERIAL, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("moment", sa.String(255), nullable=False),
        sa.Column("khz", sa.JSON(), nullable=False),
        sa.CheckConstraint("moment IN ('before', 'after')", name="moment"),
        sa.UniqueConstraint("run_id", "moment"),
    )
    op.execute(
        sa.text("INSERT INTO audit_head (id, number, chain_sha256) VALUES (1, 0, :zeros)").bindparams(zeros="0" * 64)
    )
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    """Remove all."""
    tables = sa.MetaData()
    tables.reflect(op.get_bind())
    tables.remove(tables.tables["alembic_version"])
    tables.drop_all(op.get_bind())
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_entries_refuse")
