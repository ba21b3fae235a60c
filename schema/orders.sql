-- Orders, merged from GET /orders and GET /orders/{order_id}. Key: id. Line items are in
-- order_line_items. Only GET /orders returns team, and only GET /orders/{order_id} returns the columns
-- name and email. If a field is missing in one response, the value of the other response is used.
CREATE TABLE orders (
    id                        VARCHAR NOT NULL, -- field 1
    profile_id                VARCHAR,          -- field 2, references profiles.id
    client_id                 VARCHAR,          -- field 3
    checkout_by_id            VARCHAR,          -- field 4
    team_id                   VARCHAR,          -- field 5
    total                     DECIMAL(18,6),    -- field 6
    subtotal                  DECIMAL(18,6),    -- field 7
    processing_fee            DECIMAL(18,6),    -- field 8
    discount                  DECIMAL(18,6),    -- field 9
    credits_applied           DECIMAL(18,6),    -- field 10
    coupon                    VARCHAR,          -- field 11
    client_secret             VARCHAR,          -- field 12
    date_paid                 TIMESTAMPTZ,      -- field 13
    status                    VARCHAR,          -- field 14
    reference_number          VARCHAR,          -- field 15
    external_reference_number VARCHAR,          -- field 16
    customer_invoice_id       VARCHAR,          -- field 17
    customer_invoice_source   VARCHAR,          -- field 18
    customer_invoice_date     TIMESTAMPTZ,      -- field 19
    customer_invoice_url      VARCHAR,          -- field 20
    is_guest_order            BOOLEAN,          -- field 21
    guest_email               VARCHAR,          -- field 22
    account_owner_email       VARCHAR,          -- field 23
    guest_payment_customer_id VARCHAR,          -- field 24, also guest_stripe_customer_id
    metadata                  JSON,             -- field 25
    created_at                TIMESTAMPTZ,      -- field 26
    updated_at                TIMESTAMPTZ,      -- field 27
    deleted_at                TIMESTAMPTZ,      -- field 28
    team_name                 VARCHAR,          -- field 29
    team_contact_email        VARCHAR,          -- field 30
    name                      VARCHAR,          -- field 31
    email                     VARCHAR,          -- field 32
    checkout_link             VARCHAR,          -- field 33
    extra                     JSON              -- field 34
);

COMMENT ON TABLE orders IS 'Orders of the team, one row per order, merged from GET /orders and GET /orders/{order_id}.';
COMMENT ON COLUMN orders.id IS 'Id of the order. Spec 2.4 Order.id.';
COMMENT ON COLUMN orders.profile_id IS 'Id of the client profile that the order is for. Spec 2.4 Order.profile_id.';
COMMENT ON COLUMN orders.client_id IS 'Id of the client. Spec 2.4 Order.client_id.';
COMMENT ON COLUMN orders.checkout_by_id IS 'Id of the person who checked the order out. Spec 2.4 Order.checkout_by_id.';
COMMENT ON COLUMN orders.team_id IS 'Id of the team. Spec 2.4 Order.team_id.';
COMMENT ON COLUMN orders.total IS 'Amount to pay after discount, fee and credits. The spec names no currency. Spec 2.4 Order.total.';
COMMENT ON COLUMN orders.subtotal IS 'Sum of the line items. The spec names no currency. Spec 2.4 Order.subtotal.';
COMMENT ON COLUMN orders.processing_fee IS 'Fee for processing the payment. The spec names no currency. Spec 2.4 Order.processing_fee.';
COMMENT ON COLUMN orders.discount IS 'Discount as an amount. The spec names no currency. Spec 2.4 Order.discount.';
COMMENT ON COLUMN orders.credits_applied IS 'Team credits spent on the order. The spec names no currency. Spec 2.4 Order.credits_applied.';
COMMENT ON COLUMN orders.coupon IS 'Coupon code. Spec 2.4 Order.coupon.';
COMMENT ON COLUMN orders.client_secret IS 'Payment secret of the client; dropped by the default configuration. Spec 2.4 Order.client_secret.';
COMMENT ON COLUMN orders.date_paid IS 'When the order was paid, UTC; NULL until then. Spec 2.4 Order.date_paid.';
COMMENT ON COLUMN orders.status IS 'Status of the order; the specification lists no values. Spec 2.4 Order.status.';
COMMENT ON COLUMN orders.reference_number IS 'Reference number of the service. Spec 2.4 Order.reference_number.';
COMMENT ON COLUMN orders.external_reference_number IS 'Reference number of the partner. Spec 2.4 Order.external_reference_number.';
COMMENT ON COLUMN orders.customer_invoice_id IS 'Id of the invoice to the customer. Spec 2.4 Order.customer_invoice_id.';
COMMENT ON COLUMN orders.customer_invoice_source IS 'System that issued the invoice to the customer. Spec 2.4 Order.customer_invoice_source.';
COMMENT ON COLUMN orders.customer_invoice_date IS 'Date of the invoice to the customer, UTC. Spec 2.4 Order.customer_invoice_date.';
COMMENT ON COLUMN orders.customer_invoice_url IS 'Address of the invoice to the customer. Spec 2.4 Order.customer_invoice_url.';
COMMENT ON COLUMN orders.is_guest_order IS 'Whether a guest ordered. Spec 2.4 Order.is_guest_order.';
COMMENT ON COLUMN orders.guest_email IS 'E-mail address of the guest. Spec 2.4 Order.guest_email.';
COMMENT ON COLUMN orders.account_owner_email IS 'E-mail address of the account owner. Spec 2.4 Order.account_owner_email.';
COMMENT ON COLUMN orders.guest_payment_customer_id IS 'Id of the guest at the payment provider. Spec 2.4 Order.guest_payment_customer_id.';
COMMENT ON COLUMN orders.metadata IS 'Free-form data of the order, any JSON value. Spec 2.4 Order.metadata.';
COMMENT ON COLUMN orders.created_at IS 'When the record was created, UTC. Spec 2.4 Order.created_at.';
COMMENT ON COLUMN orders.updated_at IS 'When the record was last changed, UTC. Spec 2.4 Order.updated_at.';
COMMENT ON COLUMN orders.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.4 Order.deleted_at.';
COMMENT ON COLUMN orders.team_name IS 'Name of the team; only in GET /orders. Spec 2.4 Order.team.name.';
COMMENT ON COLUMN orders.team_contact_email IS 'Contact e-mail address of the team; only in GET /orders. Spec 2.4 Order.team.contact_email.';
COMMENT ON COLUMN orders.name IS 'Name on the order; only in GET /orders/{order_id}. Spec 2.4 Order.name.';
COMMENT ON COLUMN orders.email IS 'E-mail address on the order; only in GET /orders/{order_id}. Spec 2.4 Order.email.';
COMMENT ON COLUMN orders.checkout_link IS 'Address at which the order can be paid. Spec 2.4 Order.checkout_link.';
COMMENT ON COLUMN orders.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
